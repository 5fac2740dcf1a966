SELECT * FROM pg_catalog.pg_stats
SELECT * FROM pg_statistic
SELECT * FROM pg_stat_activity
SELECT * FROM pg_authid
SELECT * FROM pg_shadow
SELECT * FROM pg_file_settings
SELECT pg_read_file('/etc/passwd')
SELECT pg_ls_dir('/')
SELECT * FROM pg_ls_dir('/')
SELECT pg_sleep(1)
SELECT lo_import('/etc/passwd')
SELECT query_to_xml('SELECT 1', true, true, '')
SELECT dblink('x')
SELECT read_text('/etc/passwd')
SELECT * FROM read_csv('/etc/passwd'), pg_class
SELECT getenv('HOME')
SELECT * FROM '/etc/passwd', pg_class
SELECT * FROM pg_class, duckdb_settings()
SELECT * FROM pg_class, sqlite_master
SELECT * FROM pg_class, visits
SELECT (SELECT COUNT(*) FROM visits) FROM pg_class
SELECT 1 FROM pg_catalog.visits
SELECT * FROM pg_class WHERE EXISTS (SELECT note FROM visits)
WITH visits AS (SELECT 1) SELECT * FROM public.visits, pg_class
SELECT * INTO x FROM pg_class
SELECT now()
SELECT random()
SELECT gen_random_uuid()
SELECT nextval('x')
SELECT set_config('dither.epsilon', '1', false) FROM pg_class
SELECT public.f()
SELECT dither.f()
SELECT 1 FROM duckdb_tables()
SELECT current_setting('x') FROM information_schema.nosuch
SELECT x::nosuch FROM pg_class
SELECT 'a'::regclass
SELECT repeat('x', 2000000000)
SELECT range(1000000000)
SELECT * FROM pg_class PIVOT (count(*) FOR x IN (1))
SELECT COLUMNS('.*') FROM pg_class
SELECT pg_terminate_backend(1)
SELECT pg_cancel_backend(1)
SELECT * FROM pg_catalog.pg_class FOR UPDATE; COPY pg_class TO STDOUT
SELECT inet_client_port()
SELECT * FROM sqlite_master, (WITH sqlite_master AS (SELECT 1) SELECT 1) AS t, pg_class
SELECT * FROM duckdb_databases, (WITH duckdb_databases AS (SELECT 1) SELECT 1) AS t, pg_class
SELECT (SELECT 1 FROM "/etc/passwd") FROM (WITH "/etc/passwd" AS (SELECT 1) SELECT 1) AS t, pg_class
SELECT oid FROM pg_class WHERE relname IN (TABLE sqlite_master)
SELECT '²'::regclass
SELECT '٣'::regtype
SELECT '99999999999999999999999999999999'::regclass
