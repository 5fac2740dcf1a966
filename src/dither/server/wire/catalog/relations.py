"""The relations of the catalog with their columns. Most are empty: here are tables with columns, and little else.

Columns are written name:type; o is an oid, t a text, i and s whole numbers of 32 and 16 bits, l of 64, b a boolean, f
a float, and a letter after one of them (oa, ta, sa) an array of it. Relations of statistics are empty for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_PG_CATALOG = {
    "pg_class": "oid:o relname:t relnamespace:o reltype:o reloftype:o relowner:o relam:o relfilenode:o "
    "reltablespace:o relpages:i reltuples:f relallvisible:i reltoastrelid:o relhasindex:b relisshared:b "
    "relpersistence:t relkind:t relnatts:s relchecks:s relhasrules:b relhastriggers:b relhassubclass:b "
    "relrowsecurity:b relforcerowsecurity:b relispopulated:b relreplident:t relispartition:b relrewrite:o "
    "relfrozenxid:o relminmxid:o relacl:ta reloptions:ta relpartbound:t",
    "pg_attribute": "attrelid:o attname:t atttypid:o attlen:s attnum:s attcacheoff:i atttypmod:i attndims:s "
    "attbyval:b attalign:t attstorage:t attcompression:t attnotnull:b atthasdef:b atthasmissing:b attidentity:t "
    "attgenerated:t attisdropped:b attislocal:b attinhcount:s attcollation:o attstattarget:s attacl:ta "
    "attoptions:ta attfdwoptions:ta",
    "pg_type": "oid:o typname:t typnamespace:o typowner:o typlen:s typbyval:b typtype:t typcategory:t "
    "typispreferred:b typisdefined:b typdelim:t typrelid:o typsubscript:o typelem:o typarray:o typinput:o "
    "typoutput:o typreceive:o typsend:o typmodin:o typmodout:o typanalyze:o typalign:t typstorage:t typnotnull:b "
    "typbasetype:o typtypmod:i typndims:i typcollation:o typdefaultbin:t typdefault:t typacl:ta",
    "pg_namespace": "oid:o nspname:t nspowner:o nspacl:ta",
    "pg_database": "oid:o datname:t datdba:o encoding:i datlocprovider:t datistemplate:b datallowconn:b "
    "datconnlimit:i datfrozenxid:o datminmxid:o dattablespace:o datcollate:t datctype:t daticulocale:t "
    "daticurules:t datcollversion:t datacl:ta datlastsysoid:o",
    "pg_description": "objoid:o classoid:o objsubid:i description:t",
    "pg_roles": "oid:o rolname:t rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b "
    "rolreplication:b rolconnlimit:i rolpassword:t rolvaliduntil:t rolbypassrls:b rolconfig:ta",
    "pg_user": "usename:t usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd:t valuntil:t "
    "useconfig:ta",
    "pg_am": "oid:o amname:t amhandler:o amtype:t",
    "pg_collation": "oid:o collname:t collnamespace:o collowner:o collprovider:t collisdeterministic:b "
    "collencoding:i collcollate:t collctype:t colliculocale:t collversion:t",
    "pg_settings": "name:t setting:t unit:t category:t short_desc:t extra_desc:t context:t vartype:t source:t "
    "min_val:t max_val:t enumvals:ta boot_val:t reset_val:t sourcefile:t sourceline:i pending_restart:b",
    "pg_tablespace": "oid:o spcname:t spcowner:o spcacl:ta spcoptions:ta",
    "pg_tables": "schemaname:t tablename:t tableowner:t tablespace:t hasindexes:b hasrules:b hastriggers:b "
    "rowsecurity:b",
    "pg_attrdef": "oid:o adrelid:o adnum:s adbin:t",
    "pg_index": "indexrelid:o indrelid:o indnatts:s indnkeyatts:s indisunique:b indnullsnotdistinct:b "
    "indisprimary:b indisexclusion:b indimmediate:b indisclustered:b indisvalid:b indcheckxmin:b indisready:b "
    "indislive:b indisreplident:b indkey:sa indcollation:oa indclass:oa indoption:sa indexprs:t indpred:t",
    "pg_indexes": "schemaname:t tablename:t indexname:t tablespace:t indexdef:t",
    "pg_constraint": "oid:o conname:t connamespace:o contype:t condeferrable:b condeferred:b convalidated:b "
    "conrelid:o contypid:o conindid:o conparentid:o confrelid:o confupdtype:t confdeltype:t confmatchtype:t "
    "conislocal:b coninhcount:s connoinherit:b conkey:sa confkey:sa conpfeqop:oa conppeqop:oa conffeqop:oa "
    "confdelsetcols:sa conexclop:oa conbin:t",
    "pg_inherits": "inhrelid:o inhparent:o inhseqno:i inhdetachpending:b",
    "pg_depend": "classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype:t",
    "pg_shdescription": "objoid:o classoid:o description:t",
    "pg_proc": "oid:o proname:t pronamespace:o proowner:o prolang:o procost:f prorows:f provariadic:o prosupport:o "
    "prokind:t prosecdef:b proleakproof:b proisstrict:b proretset:b provolatile:t proparallel:t pronargs:s "
    "pronargdefaults:s prorettype:o proargtypes:oa proallargtypes:oa proargmodes:ta proargnames:ta proargdefaults:t "
    "protrftypes:oa prosrc:t probin:t prosqlbody:t proconfig:ta proacl:ta",
    "pg_trigger": "oid:o tgrelid:o tgparentid:o tgname:t tgfoid:o tgtype:s tgenabled:t tgisinternal:b "
    "tgconstrrelid:o tgconstrindid:o tgconstraint:o tgdeferrable:b tginitdeferred:b tgnargs:s tgattr:sa tgargs:t "
    "tgqual:t tgoldtable:t tgnewtable:t",
    "pg_policy": "oid:o polname:t polrelid:o polcmd:t polpermissive:b polroles:oa polqual:t polwithcheck:t",
    "pg_rewrite": "oid:o rulename:t ev_class:o ev_type:t ev_enabled:t is_instead:b ev_qual:t ev_action:t",
    "pg_enum": "oid:o enumtypid:o enumsortorder:f enumlabel:t",
    "pg_range": "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o rngsubopc:o rngcanonical:o rngsubdiff:o",
    "pg_language": "oid:o lanname:t lanowner:o lanispl:b lanpltrusted:b lanplcallfoid:o laninline:o lanvalidator:o "
    "lanacl:ta",
    "pg_extension": "oid:o extname:t extowner:o extnamespace:o extrelocatable:b extversion:t extconfig:oa "
    "extcondition:ta",
    "pg_event_trigger": "oid:o evtname:t evtevent:t evtowner:o evtfoid:o evtenabled:t evttags:ta",
    "pg_foreign_table": "ftrelid:o ftserver:o ftoptions:ta",
    "pg_foreign_server": "oid:o srvname:t srvowner:o srvfdw:o srvtype:t srvversion:t srvacl:ta srvoptions:ta",
    "pg_foreign_data_wrapper": "oid:o fdwname:t fdwowner:o fdwhandler:o fdwvalidator:o fdwacl:ta fdwoptions:ta",
    "pg_partitioned_table": "partrelid:o partstrat:t partnatts:s partdefid:o partattrs:sa partclass:oa "
    "partcollation:oa partexprs:t",
    "pg_publication": "oid:o pubname:t pubowner:o puballtables:b pubinsert:b pubupdate:b pubdelete:b pubtruncate:b "
    "pubviaroot:b",
    "pg_publication_rel": "oid:o prpubid:o prrelid:o prqual:t prattrs:sa",
    "pg_publication_namespace": "oid:o pnpubid:o pnnspid:o",
    "pg_publication_tables": "pubname:t schemaname:t tablename:t attnames:ta rowfilter:t",
    "pg_subscription": "oid:o subdbid:o subname:t subowner:o subenabled:b",
    "pg_statistic_ext": "oid:o stxrelid:o stxname:t stxnamespace:o stxowner:o stxstattarget:i stxkeys:sa stxkind:ta "
    "stxexprs:t",
    "pg_sequence": "seqrelid:o seqtypid:o seqstart:l seqincrement:l seqmax:l seqmin:l seqcache:l seqcycle:b",
    "pg_sequences": "schemaname:t sequencename:t sequenceowner:t data_type:t start_value:l min_value:l max_value:l "
    "increment_by:l cycle:b cache_size:l last_value:l",
    "pg_views": "schemaname:t viewname:t viewowner:t definition:t",
    "pg_matviews": "schemaname:t matviewname:t matviewowner:t tablespace:t hasindexes:b ispopulated:b definition:t",
    "pg_rules": "schemaname:t tablename:t rulename:t definition:t",
    "pg_auth_members": "roleid:o member:o grantor:o admin_option:b",
    "pg_cast": "oid:o castsource:o casttarget:o castfunc:o castcontext:t castmethod:t",
    "pg_operator": "oid:o oprname:t oprnamespace:o oprowner:o oprkind:t oprcanmerge:b oprcanhash:b oprleft:o "
    "oprright:o oprresult:o oprcom:o oprnegate:o oprcode:o oprrest:o oprjoin:o",
    "pg_opclass": "oid:o opcmethod:o opcname:t opcnamespace:o opcowner:o opcfamily:o opcintype:o opcdefault:b "
    "opckeytype:o",
    "pg_conversion": "oid:o conname:t connamespace:o conowner:o conforencoding:i contoencoding:i conproc:o "
    "condefault:b",
    "pg_timezone_names": "name:t abbrev:t utc_offset:t is_dst:b",
    "pg_available_extensions": "name:t default_version:t installed_version:t comment:t",
    **dict.fromkeys(
        ("pg_stat_user_tables", "pg_stat_all_tables"),  # empty, as all that says how many rows there are
        "relid:o schemaname:t relname:t seq_scan:l idx_scan:l n_tup_ins:l n_tup_upd:l n_tup_del:l n_live_tup:l "
        "n_dead_tup:l last_vacuum:t last_autovacuum:t last_analyze:t last_autoanalyze:t",
    ),
    "pg_policies": "schemaname:t tablename:t policyname:t permissive:t roles:ta cmd:t qual:t with_check:t",
    "pg_aggregate": "aggfnoid:o aggkind:t aggnumdirectargs:s aggtransfn:o aggfinalfn:o aggsortop:o aggtranstype:o "
    "aggtransspace:i agginitval:t",
    "pg_default_acl": "oid:o defaclrole:o defaclnamespace:o defaclobjtype:t defaclacl:ta",
    "pg_get_keywords": "word:t catcode:t barelabel:b catdesc:t baredesc:t",
}
_INFORMATION_SCHEMA = {
    "schemata": "catalog_name:t schema_name:t schema_owner:t default_character_set_catalog:t "
    "default_character_set_schema:t default_character_set_name:t sql_path:t",
    "tables": "table_catalog:t table_schema:t table_name:t table_type:t self_referencing_column_name:t "
    "reference_generation:t user_defined_type_catalog:t user_defined_type_schema:t user_defined_type_name:t "
    "is_insertable_into:t is_typed:t commit_action:t",
    "columns": "table_catalog:t table_schema:t table_name:t column_name:t ordinal_position:i column_default:t "
    "is_nullable:t data_type:t character_maximum_length:i character_octet_length:i numeric_precision:i "
    "numeric_precision_radix:i numeric_scale:i datetime_precision:i interval_type:t interval_precision:i "
    "character_set_name:t collation_name:t domain_name:t udt_catalog:t udt_schema:t udt_name:t dtd_identifier:t "
    "is_identity:t identity_generation:t is_generated:t generation_expression:t is_updatable:t",
    "views": "table_catalog:t table_schema:t table_name:t view_definition:t check_option:t is_updatable:t "
    "is_insertable_into:t",
    "table_constraints": "constraint_catalog:t constraint_schema:t constraint_name:t table_catalog:t table_schema:t "
    "table_name:t constraint_type:t is_deferrable:t initially_deferred:t enforced:t",
    "key_column_usage": "constraint_catalog:t constraint_schema:t constraint_name:t table_catalog:t table_schema:t "
    "table_name:t column_name:t ordinal_position:i position_in_unique_constraint:i",
    "constraint_column_usage": "table_catalog:t table_schema:t table_name:t column_name:t constraint_catalog:t "
    "constraint_schema:t constraint_name:t",
    "referential_constraints": "constraint_catalog:t constraint_schema:t constraint_name:t "
    "unique_constraint_catalog:t unique_constraint_schema:t unique_constraint_name:t match_option:t update_rule:t "
    "delete_rule:t",
    "check_constraints": "constraint_catalog:t constraint_schema:t constraint_name:t check_clause:t",
    "routines": "specific_catalog:t specific_schema:t specific_name:t routine_catalog:t routine_schema:t "
    "routine_name:t routine_type:t data_type:t routine_definition:t",
    "parameters": "specific_catalog:t specific_schema:t specific_name:t ordinal_position:i parameter_mode:t "
    "parameter_name:t data_type:t",
    "sequences": "sequence_catalog:t sequence_schema:t sequence_name:t data_type:t",
    "triggers": "trigger_catalog:t trigger_schema:t trigger_name:t event_object_table:t",
    "table_privileges": "grantor:t grantee:t table_catalog:t table_schema:t table_name:t privilege_type:t "
    "is_grantable:t with_hierarchy:t",
    "role_table_grants": "grantor:t grantee:t table_catalog:t table_schema:t table_name:t privilege_type:t "
    "is_grantable:t with_hierarchy:t",
    "routine_privileges": "grantor:t grantee:t specific_catalog:t specific_schema:t specific_name:t "
    "routine_catalog:t routine_schema:t routine_name:t privilege_type:t is_grantable:t",
    "column_privileges": "grantor:t grantee:t table_catalog:t table_schema:t table_name:t column_name:t "
    "privilege_type:t is_grantable:t",
    "character_sets": "character_set_name:t default_collate_name:t",
    "enabled_roles": "role_name:t",
}
RELATIONS = {("pg_catalog", name): text for name, text in _PG_CATALOG.items()} | {
    ("information_schema", name): text for name, text in _INFORMATION_SCHEMA.items()
}


def schema_of(relation: tuple[str, str]) -> pa.Schema:
    """The columns of a relation as Arrow has them."""
    import pyarrow as pa

    plain = {
        "o": pa.uint32(),
        "t": pa.string(),
        "i": pa.int32(),
        "s": pa.int16(),
        "l": pa.int64(),
        "b": pa.bool_(),
        "f": pa.float64(),
    }
    fields = []
    for column in RELATIONS[relation].split():
        name, kind = column.split(":")
        fields.append((name, pa.list_(plain[kind[0]]) if kind.endswith("a") else plain[kind]))
    return pa.schema(fields)
