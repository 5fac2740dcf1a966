SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datname = 'clinic'
--------
SELECT * FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'
--------
SELECT string_agg(word, ',' ) FROM pg_catalog.pg_get_keywords() WHERE word NOT IN ('a', 'abs')
--------
SELECT version()
--------
SELECT current_schema(), session_user
--------
SELECT n.oid, n.*, d.description
FROM pg_catalog.pg_namespace n
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass
ORDER BY nspname
--------
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = 23
--------
SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name, d.description
FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid
WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c')
--------
SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr,
  pg_catalog.pg_get_partkeydef(c.oid) AS partition_key
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')
--------
SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, dep.objid
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum
  AND dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') AND c.oid = 143700948 ORDER BY a.attnum
--------
SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description,
  CASE WHEN c.contype = 'c' THEN 'x' || pg_get_constraintdef(c.oid) ELSE NULL END AS consrc_copy
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
WHERE c.conrelid = 143700948 ORDER BY c.oid
--------
SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, c.relam, tc.relname AS tabrelname,
  pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr
FROM pg_catalog.pg_index i
INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid
WHERE i.indrelid = 143700948 ORDER BY tabrelname, c.relname
--------
SELECT x.oid, x.*, p.relnamespace AS procnamespace FROM pg_catalog.pg_trigger x
LEFT OUTER JOIN pg_catalog.pg_class p ON x.tgrelid = p.oid WHERE x.tgrelid = 143700948 AND NOT x.tgisinternal
--------
SELECT i.*, c.relnamespace FROM pg_catalog.pg_inherits i, pg_catalog.pg_class c
WHERE i.inhrelid = 143700948 AND c.oid = i.inhparent ORDER BY i.inhseqno
--------
SELECT a.oid, a.* FROM pg_catalog.pg_roles a ORDER BY a.rolname
--------
SELECT current_database()
--------
SELECT base.oid, base.* FROM pg_catalog.pg_database base WHERE 1 = 1 AND datallowconn AND NOT datistemplate ORDER BY base.datname
--------
SELECT 1 FROM pg_enum WHERE 1 <> 1
--------
SELECT reltype FROM pg_class WHERE 1 <> 1 LIMIT 1
--------
SELECT base.datname, pg_database_size(base.oid) FROM pg_catalog.pg_database base
--------
SELECT description FROM pg_shdescription JOIN pg_database ON objoid = pg_database.oid WHERE datname = 'clinic'
--------
SELECT y.oid, y.*, k.relkind, format_type(nullif(y.typbasetype, 0), y.typtypmod) AS base_name, about.description
FROM pg_catalog.pg_type y
LEFT OUTER JOIN pg_catalog.pg_type held ON held.oid = y.typelem
LEFT OUTER JOIN pg_catalog.pg_class k ON k.oid = y.typrelid
LEFT OUTER JOIN pg_catalog.pg_description about ON y.oid = about.objoid
WHERE y.typname IS NOT NULL AND (k.relkind IS NULL OR k.relkind = 'c') AND (held.typcategory IS NULL OR held.typcategory <> 'C')
--------
SELECT r.oid, r.*, said.description FROM pg_catalog.pg_roles r
LEFT JOIN pg_catalog.pg_shdescription said ON r.oid = said.objoid ORDER BY r.rolname
--------
SELECT m.oid, m.* FROM pg_catalog.pg_am m ORDER BY m.oid
--------
SELECT v.contoencoding AS number, pg_catalog.pg_encoding_to_char(v.contoencoding) AS words
FROM pg_catalog.pg_conversion v GROUP BY v.contoencoding ORDER BY 2
--------
SELECT o.oid, o.* FROM pg_catalog.pg_collation o ORDER BY o.oid
--------
SELECT w.oid, w.*, p.pronamespace AS place FROM pg_catalog.pg_foreign_data_wrapper w
LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid = w.fdwhandler ORDER BY w.fdwname
--------
SELECT s.oid, s.*, pg_tablespace_location(s.oid) AS place FROM pg_catalog.pg_tablespace s ORDER BY s.oid
--------
SELECT name, default_version, installed_version, comment FROM pg_catalog.pg_available_extensions ORDER BY name
--------
SELECT g.*, about.description FROM pg_catalog.pg_event_trigger g
LEFT OUTER JOIN pg_catalog.pg_description about ON g."oid" = about.objoid
--------
SELECT x.oid, k.nspname, x.extname, x.extversion, pieces.listed
FROM pg_catalog.pg_extension x
JOIN pg_namespace k ON k.oid = x.extnamespace
LEFT JOIN (
  SELECT m.number, string_agg(s.nspname || '.' || c.relname, ',') AS listed
  FROM (SELECT e.oid AS number, unnest(e.extconfig) AS oid FROM pg_catalog.pg_extension e) m
  JOIN pg_class c ON c.oid = m.oid JOIN pg_namespace s ON s.oid = c.relnamespace GROUP BY m.number
) pieces ON pieces.number = x.oid
ORDER BY x.oid
--------
SELECT p.oid AS number, p.proname AS words, a.* FROM pg_catalog.pg_aggregate a, pg_catalog.pg_proc p
WHERE p.oid = a.aggfnoid AND p.pronamespace = 2200 ORDER BY p.proname
--------
SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) AS whole, pg_catalog.pg_relation_size(c.oid) AS part
FROM pg_class c WHERE c.relnamespace = 2200
--------
SELECT i.inhrelid AS child, up.relnamespace AS place, up.oid AS parent, i.inhseqno
FROM pg_catalog.pg_inherits i, pg_class down, pg_class up
WHERE down.oid = i.inhrelid AND down.relnamespace = 2200 AND up.oid = i.inhparent
--------
SELECT * FROM pg_default_acl WHERE defaclnamespace = 2200
--------
SELECT c.oid, CASE WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) ELSE NULL END AS words
FROM pg_catalog.pg_constraint c WHERE c.conrelid = 143700948
--------
SELECT i.*, pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) AS words,
  pg_catalog.pg_relation_size(i.indexrelid) AS bytes, pg_catalog.pg_stat_get_numscans(i.indexrelid) AS scans
FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 143700948
--------
SELECT p.oid AS number, p.*, pg_catalog.pg_get_expr(p.proargdefaults, 0) AS usual, about.description
FROM pg_catalog.pg_proc p
LEFT OUTER JOIN pg_catalog.pg_description about ON about.objoid = p.oid AND about.classoid = 'pg_proc'::regclass
WHERE p.pronamespace = 2200 ORDER BY p.proname
--------
SELECT c.relname, row_number() OVER (ORDER BY a.attnum) AS place, a.* FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) WHERE a.attnum > 0 AND NOT a.attisdropped AND c.oid = 143700948
--------
SELECT DISTINCT connamespace FROM pg_catalog.pg_constraint WHERE confrelid = 143700948
--------
SELECT * FROM pg_catalog.pg_policies WHERE schemaname = 'public' AND tablename = 'visits'
--------
SELECT * FROM pg_catalog.pg_auth_members WHERE roleid = 10
--------
SELECT * FROM information_schema.table_privileges WHERE table_catalog = 'clinic' AND grantee = 'alice'
--------
SELECT * FROM information_schema.routine_privileges WHERE specific_catalog = 'clinic' AND grantee = 'alice'
