/** What a PostgreSQL database says of a table: its key, its columns, and what uses them. */
import { VaultError } from '../core/errors.ts'
import type { Connection } from './engine.ts'
import { type Cell, quote } from './sql-text.ts'
import type { Finding, HostColumn, TableShape } from './table-shape.ts'

const TABLE = `select c.oid, n.nspname, c.relname, c.relkind, row_security_active(c.oid), pg_has_role(c.relowner, 'USAGE')
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = coalesce(?, current_schema()) and c.relname = ?`

const COLUMNS = `select a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated,
    case when a.attcollation <> t.typcollation then quote_ident(cn.nspname) || '.' || quote_ident(l.collname) end, l.collisdeterministic, t.typname
  from pg_attribute a join pg_type t on t.oid = a.atttypid
  left join pg_collation l on l.oid = a.attcollation left join pg_namespace cn on cn.oid = l.collnamespace
  where a.attrelid = ?::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`

const KEY = `select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
  where i.indrelid = ?::oid and i.indisprimary order by array_position(i.indkey::int2[], a.attnum)`

const TRIGGERS = `select tgname from pg_trigger where tgrelid = ?::oid and not tgisinternal and tgname not like 'strongroom\\_%' and (tgtype & 16) <> 0`

const DEPENDANTS = `select distinct a.attname, case when r.oid is null then pg_describe_object(d.classid, d.objid, d.objsubid) else pg_describe_object('pg_class'::regclass, r.ev_class, 0) end
  from pg_depend d join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
  left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
  left join pg_attrdef f on d.classid = 'pg_attrdef'::regclass and f.oid = d.objid
  where d.refclassid = 'pg_class'::regclass and d.refobjid = ?::oid and (r.oid is not null or (f.oid is not null and f.adnum <> a.attnum) or d.classid = 'pg_policy'::regclass)`

const PUBLICATIONS = `select pubname from pg_publication_tables where schemaname = ? and tablename = ?`

/** Types of which equal values always have one text. */
const STRICT = new Set(['int2', 'int4', 'int8', 'bool', 'date', 'uuid', 'text', 'varchar'])

export async function inspectPostgres(connection: Connection, given: string): Promise<TableShape> {
  const dot = given.indexOf('.')
  const [schemaName, tableName] = dot < 0 ? [null, given] : [given.slice(0, dot), given.slice(dot + 1)]
  const [found] = await connection.all(TABLE, [schemaName, tableName])
  if (found === undefined) throw new VaultError('not_found', `The database has no table ${given}.`)
  const [oid, schema, name, kind, hidesRows, isOwner] = found.map(String)
  if (oid === undefined || schema === undefined || name === undefined)
    throw new VaultError('internal', 'The catalog has no names.')
  const what = `${schema}.${name}`
  if (kind !== 'r' && kind !== 'p') throw new VaultError('unsupported', `${what} is not a table. Adopt the table below it.`)
  const columns = (await connection.all(COLUMNS, [oid])).map(columnOf)
  const findings: Finding[] = []
  if (hidesRows === 't')
    findings.push({
      level: 'refused',
      code: 'row_security',
      message: `${what} has row security, which hides rows from this role. Use a role with BYPASSRLS.`,
    })
  if (isOwner !== 't')
    findings.push({
      level: 'refused',
      code: 'not_owner',
      message: `This role does not own ${what}, and only its owner can make the triggers ALWAYS. Use the role that owns it.`,
    })
  for (const [trigger] of await connection.all(TRIGGERS, [oid]))
    findings.push({
      level: 'attention',
      code: 'host_trigger',
      message: `${what} has the trigger ${trigger}, which runs on updates: finish and back run it for every row.`,
    })
  for (const [publication] of await connection.all(PUBLICATIONS, [schema, name]))
    findings.push({
      level: 'attention',
      code: 'published',
      message: `${what} is in the publication ${publication}: subscribers keep plaintext until they have replayed finish.`,
    })
  return {
    quoted: `${quote(schema)}.${quote(name)}`,
    name: what,
    beside: (other) => `${quote(schema)}.${quote(other)}`,
    key: (await connection.all(KEY, [oid])).map(([column]) => String(column)),
    columns: new Map(columns.map((column) => [column.name, column])),
    findings,
    dependants: (await connection.all(DEPENDANTS, [oid])).map(([column, object]) => ({
      column: String(column),
      object: String(object),
    })),
  }
}

function columnOf([name, type, isRequired, generated, collation, isDeterministic, typeName]: readonly Cell[]): HostColumn {
  return {
    name: String(name),
    type: String(type),
    declared: collation === null ? String(type) : `${type} collate ${collation}`,
    isLoose: !STRICT.has(String(typeName)) || isDeterministic === 'f',
    isRequired: isRequired === 't',
    isGenerated: generated !== '',
  }
}
