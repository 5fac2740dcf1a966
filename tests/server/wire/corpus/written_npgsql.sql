SELECT version()
--------
SELECT s.nspname, x.oid, x.typname, x.typtype, x.typnotnull, x.item
FROM (
  SELECT outer_type.oid, outer_type.typnamespace, outer_type.typname, outer_type.typtype, outer_type.typnotnull,
    outer_type.relkind, inner_type.oid AS item, inner_type.typname AS item_name, inner_class.relkind AS item_kind,
    CASE WHEN inner_reader.proname = 'array_recv' THEN 'a' ELSE inner_type.typtype END AS item_type
  FROM (
    SELECT y.oid, typnamespace, typname, typrelid, typnotnull, relkind,
      CASE WHEN reader.proname = 'array_recv' THEN 'a' ELSE y.typtype END AS typtype,
      CASE WHEN reader.proname = 'array_recv' THEN y.typelem
           WHEN y.typtype = 'r' THEN rngsubtype
           WHEN y.typtype = 'm' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = y.oid)
           WHEN y.typtype = 'd' THEN y.typbasetype END AS held
    FROM pg_type AS y -- every type
    LEFT JOIN pg_class AS k ON (k.oid = y.typrelid)
    LEFT JOIN pg_proc AS reader ON reader.oid = y.typreceive
    LEFT JOIN pg_range ON (pg_range.rngtypid = y.oid)
  ) AS outer_type
  LEFT JOIN pg_type AS inner_type ON inner_type.oid = held
  LEFT JOIN pg_class AS inner_class ON (inner_class.oid = inner_type.typrelid)
  LEFT JOIN pg_proc AS inner_reader ON inner_reader.oid = inner_type.typreceive
) AS x
JOIN pg_namespace AS s ON (s.oid = typnamespace)
WHERE typtype IN ('b', 'r', 'm', 'e', 'd') OR (typtype = 'c' AND relkind = 'c')
  OR (typtype = 'p' AND typname IN ('record', 'void'))
  OR (typtype = 'a' AND (item_type IN ('b', 'r', 'm', 'e', 'd') OR (item_type = 'p' AND item_name IN ('record', 'void'))
      OR (item_type = 'c' AND item_kind = 'c')))
ORDER BY CASE WHEN typtype IN ('b', 'e', 'p') THEN 0 WHEN typtype = 'r' THEN 1 WHEN typtype = 'a' THEN 5
              WHEN typtype = 'd' AND item_type <> 'a' THEN 4 END
--------
SELECT y.oid, f.attname, f.atttypid
FROM pg_type AS y
JOIN pg_namespace AS s ON (s.oid = y.typnamespace)
JOIN pg_class AS k ON (k.oid = y.typrelid)
JOIN pg_attribute AS f ON (f.attrelid = y.typrelid)
WHERE (y.typtype = 'c' AND k.relkind = 'c') AND attnum > 0 AND NOT attisdropped -- no system columns
ORDER BY y.oid, f.attnum
--------
SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid ORDER BY oid, enumsortorder
