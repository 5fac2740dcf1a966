SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
--------
SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' END AS type,
  d.description, NULLIF(c.reltuples, -1) AS estimated_row_count
FROM pg_catalog.pg_class AS c
INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
LEFT JOIN pg_catalog.pg_description AS d ON c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
WHERE c.relnamespace = n.oid AND n.nspname !~ '^pg_' AND c.relkind IN ('r', 'p', 'v', 'f', 'm') AND n.nspname IN ('public')
ORDER BY type, schema, name
--------
SELECT column_name AS name, data_type, ordinal_position - 1 AS position, c.table_schema, c.table_name,
  is_nullable = 'NO' AS required, column_default IS NOT NULL AS has_default
FROM information_schema.columns AS c
LEFT JOIN information_schema.table_constraints AS pk ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name
  AND pk.constraint_type = 'PRIMARY KEY'
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' ORDER BY c.table_schema, c.table_name, position
--------
SELECT fk_ns.nspname, fk_table.relname, fk_column.attname, pk_table.relname, pk_column.attname
FROM pg_constraint AS c
JOIN pg_class AS fk_table ON c.conrelid = fk_table.oid
JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid
JOIN pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid
JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid
JOIN pg_attribute AS pk_column ON c.confrelid = pk_column.attrelid
WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND c.contype = 'f'::char
  AND fk_column.attnum = ANY(c.conkey) AND pk_column.attnum = ANY(c.confkey) ORDER BY 1, 2
--------
SELECT nspname, typname, enumlabel FROM pg_enum JOIN pg_type ON enumtypid = pg_type.oid
JOIN pg_namespace ON typnamespace = pg_namespace.oid
--------
WITH table_privileges AS (
  SELECT NULL AS role, t.schemaname AS schema, t.objectname AS "table",
    pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"."' || t.objectname || '"', 'SELECT') AS selects
  FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables
        UNION SELECT schemaname, viewname AS objectname FROM pg_views
        UNION SELECT schemaname, matviewname AS objectname FROM pg_matviews) t
  WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema'
    AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')
)
SELECT t.* FROM table_privileges t
--------
SELECT 1
--------
SELECT s.nspname AS "schema", k.relname AS "name",
  CASE k.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' ELSE NULL END AS "type",
  about.description AS "description", counted.n_live_tup AS "rows"
FROM "pg_catalog"."pg_class" AS k
INNER JOIN "pg_catalog"."pg_namespace" AS s ON k.relnamespace = s.oid
LEFT JOIN "pg_catalog"."pg_description" AS about ON (k.oid = about.objoid) AND (about.objsubid = 0)
  AND (about.classoid = 'pg_class'::regclass)
LEFT JOIN "pg_stat_user_tables" AS counted ON (s.nspname = counted.schemaname) AND (k.relname = counted.relname)
WHERE (s.nspname !~ '^pg_') AND (s.nspname <> 'information_schema') AND k.relkind IN ('r', 'p', 'v', 'f', 'm')
  AND (s.nspname IN ('public')) ORDER BY "type" ASC, "schema" ASC, "name" ASC
--------
SELECT f.column_name AS "name",
  CASE WHEN f.udt_schema IN ('public', 'pg_catalog') THEN FORMAT('%s', f.udt_name)
       ELSE FORMAT('"%s"."%s"', f.udt_schema, f.udt_name) END AS "kind",
  f.ordinal_position - 1 AS "place", f.table_schema AS "table-schema", f.table_name AS "table-name",
  keys.column_name IS NOT NULL AS "key?",
  COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST(f.table_schema AS TEXT), CAST(f.table_name AS TEXT)) AS REGCLASS) AS OID),
    f.ordinal_position) AS "about",
  ((column_default IS NULL) OR (LOWER(column_default) = 'null')) AND (is_nullable = 'NO')
    AND NOT (((column_default IS NOT NULL) AND (column_default LIKE '%nextval(%')) OR (is_identity <> 'NO')) AS "needed"
FROM "information_schema"."columns" AS f
LEFT JOIN (
  SELECT one.table_schema, one.table_name, uses.column_name
  FROM "information_schema"."table_constraints" AS one
  INNER JOIN "information_schema"."key_column_usage" AS uses ON (one.constraint_name = uses.constraint_name)
    AND (one.table_schema = uses.table_schema) AND (one.table_name = uses.table_name)
  WHERE one.constraint_type = 'PRIMARY KEY'
) AS keys ON (f.table_schema = keys.table_schema) AND (f.table_name = keys.table_name) AND (f.column_name = keys.column_name)
WHERE f.table_schema !~ '^information_schema|catalog_history|pg_' AND (f.table_schema IN ('public'))
UNION ALL
SELECT a.attname, CASE WHEN b.nspname IN ('public', 'pg_catalog') THEN FORMAT('%s', y.typname)
    ELSE FORMAT('"%s"."%s"', b.nspname, y.typname) END, a.attnum - 1, s.nspname, k.relname, FALSE, NULL, FALSE
FROM "pg_catalog"."pg_class" AS k
INNER JOIN "pg_catalog"."pg_namespace" AS s ON s.oid = k.relnamespace
INNER JOIN "pg_catalog"."pg_attribute" AS a ON a.attrelid = k.oid
INNER JOIN "pg_catalog"."pg_type" AS y ON y.oid = a.atttypid
INNER JOIN "pg_catalog"."pg_namespace" AS b ON b.oid = y.typnamespace
WHERE (k.relkind = 'm') AND (a.attnum >= 1) ORDER BY "table-schema" ASC, "table-name" ASC, "place" ASC
--------
SELECT got.schema, got.words, TRIM(BOTH '"' FROM pg_catalog.pg_get_indexdef(got.number, got.place, FALSE)) AS "field"
FROM (
  SELECT s.nspname AS schema, k.relname AS words, x.oid AS number, (information_schema._pg_expandarray(i.indkey)).n AS place
  FROM pg_catalog.pg_class k
  INNER JOIN pg_catalog.pg_namespace s ON k.relnamespace = s.oid
  INNER JOIN pg_catalog.pg_index i ON k.oid = i.indrelid
  INNER JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
  WHERE pg_catalog.pg_get_expr(i.indpred, i.indrelid) IS NULL AND s.nspname !~ '^information_schema|catalog_history|pg_'
) AS got WHERE got.place = 1
--------
SELECT nspname, typname FROM pg_type y JOIN pg_namespace s ON s.oid = y.typnamespace
WHERE y.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e)
--------
show timezone
