/** Baseline: what a service of one's own keeps in plain text: people with a token, API keys by digest, and an audit row for each request. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { type Batch, COLUMNS, type Person } from '../fixtures/people.ts'
import type { VaultPlace } from '../measuring/writers.ts'
import { openSqlite } from './open-sqlite.ts'

/** Who an API key is. */
export interface PlainKey {
  readonly actor: string
  readonly roles: string
  readonly revoked_at: string | null
}

/** A person who was stored. */
export interface PlainPerson extends Person {
  readonly id: string
  readonly token: string
}

/** The cells of an audit row: time, actor, action, record, status, address and id of the request. */
export type AuditRow = readonly (string | number | undefined)[]

/** Reads return undefined for what does not exist. Changes resolve when they are committed. */
export interface PlainStore {
  findKey(digest: string): PlainKey | undefined | Promise<PlainKey | undefined>
  findPerson(id: string): Person | undefined | Promise<Person | undefined>
  findByToken(token: string): PlainPerson | undefined | Promise<PlainPerson | undefined>
  record(event: AuditRow): unknown
  /** Stores a person and the audit row in one transaction. */
  insert(person: PlainPerson, event: AuditRow): unknown
  close(): unknown
}

/** What a filled store has. */
export interface PlainFilling {
  readonly people: readonly PlainPerson[]
  readonly apiKey: string
}

const PEOPLE = ['id', ...COLUMNS, 'token'] as const
const AUDIT = ['at', 'actor', 'action', 'record', 'status', 'ip', 'request_id'] as const

/** Returns the SHA-256 of an API key in hex digits. */
export function digestKey(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('hex')
}

/** Creates the tables and fills them. */
export async function fillPlainStore(place: VaultPlace, batch: Batch): Promise<PlainFilling> {
  const people = batch.map(({ fields }) => ({ id: randomUUID(), ...fields, token: randomUUID() }))
  const apiKey = randomBytes(32).toString('base64url')
  const key = [digestKey(apiKey), 'billing', 'owner']
  if (place.kind === 'sqlite') {
    const connection = openSqlite(place.filename, 'filling')
    connection.exec(tablesOf('', 'text', 'integer primary key'))
    const insert = connection.prepare(`insert into people values (${PEOPLE.map(() => '?').join()})`)
    connection.transaction(() => people.map((person) => insert.run(cellsOf(person))))()
    connection.prepare('insert into api_keys values (?, ?, ?, null)').run(key)
    connection.close()
  } else {
    const { url, schema } = place
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`create schema ${schema};${tablesOf(`${schema}.`, 'uuid', 'bigserial primary key')}`)
    await client.query(`insert into ${schema}.people select * from jsonb_populate_recordset(null::${schema}.people, $1)`, [
      JSON.stringify(people),
    ])
    await client.query(`insert into ${schema}.api_keys values ($1, $2, $3, null)`, key)
    await client.end()
  }
  return { people, apiKey }
}

function tablesOf(schema: string, uuid: string, serial: string): string {
  return `create table ${schema}people (id ${uuid} primary key, ${COLUMNS.map((name) => `${name} text`).join()}, token ${uuid} unique);
    create table ${schema}api_keys (digest text primary key, actor text not null, roles text not null, revoked_at text);
    create table ${schema}audit (id ${serial}, at text not null, actor text not null, action text not null, record text, status int not null, ip text, request_id text not null);`
}

function cellsOf(person: PlainPerson): string[] {
  return PEOPLE.map((name) => person[name])
}

/** Opens a store that was filled. */
export function openPlainStore(place: VaultPlace): PlainStore {
  return place.kind === 'sqlite' ? openSqliteStore(place.filename) : openPostgresStore(place)
}

function openSqliteStore(filename: string): PlainStore {
  const connection = openSqlite(filename, 'measuring')
  connection.pragma('busy_timeout = 10000')
  const key = connection.prepare<[string], PlainKey>('select actor, roles, revoked_at from api_keys where digest = ?')
  const person = connection.prepare<[string], Person>(`select ${COLUMNS.join()} from people where id = ?`)
  const byToken = connection.prepare<[string], PlainPerson>('select * from people where token = ?')
  const insert = connection.prepare(`insert into people values (${PEOPLE.map(() => '?').join()})`)
  const record = connection.prepare(`insert into audit (${AUDIT.join()}) values (${AUDIT.map(() => '?').join()})`)
  return {
    findKey: (digest) => key.get(digest),
    findPerson: (id) => person.get(id),
    findByToken: (token) => byToken.get(token),
    record: (event) => record.run(event),
    insert: connection.transaction((given: PlainPerson, event: AuditRow) => {
      insert.run(cellsOf(given))
      record.run(event)
    }),
    close: () => connection.close(),
  }
}

function openPostgresStore({ url, schema }: Extract<VaultPlace, { readonly kind: 'postgres' }>): PlainStore {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const slots = (names: readonly string[]) => names.map((_, index) => `$${index + 1}`).join()
  const key = { name: 'key', text: `select actor, roles, revoked_at from ${schema}.api_keys where digest = $1` }
  const person = { name: 'person', text: `select ${COLUMNS.join()} from ${schema}.people where id = $1` }
  const byToken = { name: 'token', text: `select * from ${schema}.people where token = $1` }
  const insert = { name: 'insert', text: `insert into ${schema}.people values (${slots(PEOPLE)})` }
  const record = { name: 'record', text: `insert into ${schema}.audit (${AUDIT.join()}) values (${slots(AUDIT)})` }
  const first = async <Row extends pg.QueryResultRow>(statement: pg.QueryConfig, value: string) =>
    (await pool.query<Row>({ ...statement, values: [value] })).rows[0]
  return {
    findKey: (digest) => first<PlainKey>(key, digest),
    findPerson: (id) => first<PlainPerson>(person, id),
    findByToken: (token) => first<PlainPerson>(byToken, token),
    record: (event) => pool.query({ ...record, values: [...event] }),
    async insert(given, event) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        await client.query({ ...insert, values: cellsOf(given) })
        await client.query({ ...record, values: [...event] })
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    close: () => pool.end(),
  }
}
