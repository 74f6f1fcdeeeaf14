/** The plan: what would be refused, and what the operator must know. It stores every row in a vault in memory with a key of its own, and keeps none. */
import { randomBytes } from 'node:crypto'
import { localKeys } from '../adapters/keys/index.ts'
import { memoryStorage } from '../adapters/memory/index.ts'
import type { RunCallback } from '../core/util/boundary.ts'
import { assertNotAborted, type Signal } from '../core/util/signal.ts'
import {
  type ColumnDefinition,
  column,
  createVault,
  defineSchema,
  type Schema,
  type SchemaDefinition,
  type TableDefinition,
} from '../index.ts'
import { type AdoptedTable, columnNames, type MappedColumn, uniqueKeys } from './adopted-table.ts'
import type { Connection } from './engine.ts'
import type { HostRow } from './host-rows.ts'
import { type Adopting, type AdoptSession, behind } from './job.ts'
import { keyNames, toJson } from './sql-text.ts'
import { storeRows } from './store-rows.ts'
import type { Finding } from './table-shape.ts'
import { differentRows } from './verify.ts'

/** What adopting a table would be. */
export interface Plan {
  readonly table: string
  readonly vaultTable: string
  /** Columns of the host with those of the vault. */
  readonly columns: Readonly<Record<string, string>>
  readonly rows: number
  readonly findings: readonly Finding[]
  /** True if nothing is refused: adopting can begin. */
  readonly ok: boolean
}

/** Options of a plan. */
export interface PlanOptions {
  /** Called with the number of rows that were read. */
  readonly onProgress?: (done: number) => unknown
  readonly signal?: Signal
}

/** Keys that a finding lists. */
const MAX_KEYS = 20
/** Longest unique text. Source: specification, "Limits". */
const MAX_UNIQUE_LENGTH = 2500

export async function makePlan(
  adopting: Adopting,
  schema: Schema,
  { onProgress, signal, run }: PlanOptions & { readonly run: RunCallback },
): Promise<Plan> {
  const { table, engine } = adopting
  const definition = schema.tables[table.vaultTable] ?? {}
  const trial = await openTrial(adopting, definition)
  const counted = new Counted()
  let rows = 0
  try {
    for (let pos: string | null = null; ; ) {
      assertNotAborted(signal)
      const place: string | null = pos
      const last: string | undefined = await engine.transaction(
        async (connection) => {
          const read = await readRows(adopting, connection, place)
          await tryRows(adopting, connection, trial, { rows: read, counted })
          rows += read.length
          return read.at(-1)?.key
        },
        { snapshot: true },
      )
      if (last === undefined) break
      pos = last
      const done = rows
      if (onProgress !== undefined) await run(async () => onProgress(done))
    }
  } finally {
    await trial.close()
  }
  const findings = [...table.findings, ...columnFindings(table, definition), ...counted.findings(table.name)]
  return {
    table: table.name,
    vaultTable: table.vaultTable,
    columns: Object.fromEntries(table.columns.map(({ name, vault }) => [name, vault])),
    rows,
    findings,
    ok: findings.every(({ level }) => level !== 'refused'),
  }
}

function columnFindings(table: AdoptedTable, definition: TableDefinition): Finding[] {
  const mapped = new Set(table.columns.map(({ vault }) => vault))
  const unfilled = Object.entries(definition).filter(([name, { required }]) => required === true && !mapped.has(name))
  return [
    ...unfilled.map(
      ([name]): Finding => ({
        level: 'refused',
        code: 'required_column',
        column: name,
        message: `Column ${name} of the vault requires a value, and no column of ${table.name} fills it.`,
      }),
    ),
    ...table.columns.flatMap(({ name, vault, isGenerated, isRequired }): Finding[] => {
      const own: Finding[] = []
      const kind = tokenKind(definition[vault])
      if (definition[vault]?.type === 'FILE')
        own.push({ level: 'refused', code: 'file_column', column: name, message: `Column ${vault} of the vault is for files.` })
      if (kind?.startsWith('transient') === true)
        own.push({
          level: 'refused',
          code: 'transient_column',
          column: name,
          message: `Values of column ${vault} of the vault expire, and those of ${name} must not.`,
        })
      if (isGenerated)
        own.push({
          level: 'refused',
          code: 'generated_column',
          column: name,
          message: `${name} is a generated column. Adopt the columns it is computed from.`,
        })
      if (isRequired)
        own.push({
          level: 'attention',
          code: 'not_null',
          column: name,
          message: `${name} is NOT NULL: finish writes tokens in its place, or drops it.`,
        })
      return own
    }),
    ...table.dependants
      .filter(({ column: name }) => table.columns.some((one) => one.name === name))
      .map(
        ({ column: name, object }): Finding => ({
          level: 'attention',
          code: 'dependant',
          column: name,
          message: `${name} is used by ${object}: it can be emptied, but not dropped while that exists.`,
        }),
      ),
  ]
}

function tokenKind(definition: ColumnDefinition | undefined): string | undefined {
  const token = definition?.token
  return typeof token === 'object' ? token.kind : token
}

function mayLackToken(definition: ColumnDefinition | undefined): boolean {
  const token = definition?.token
  return typeof token === 'object' && 'whenRefused' in token && token.whenRefused === 'noToken'
}

/** The vault in memory. Its columns that are unique, also together, are doubled by deterministic tokens: equal ones are equal values, also after normalization. */
interface Trial {
  readonly session: AdoptSession
  /** The table as this vault has it. */
  readonly table: AdoptedTable
  /** The columns of the host that are unique, also together, and the names of their doubles. */
  readonly keyed: readonly { readonly host: MappedColumn; readonly position: number; readonly name: string }[]
  /** Columns in which a value can be stored without a token. */
  readonly optional: readonly { readonly host: string; readonly name: string }[]
  close(): Promise<void>
}

async function openTrial({ table, maxRows, caller }: Adopting, definition: TableDefinition): Promise<Trial> {
  const named = table.columns.map((host, position) => ({ host, position, name: `strongroom_plan_${position}` }))
  const keyed = named.filter(({ host }) => uniqueKeys(table).some((key) => key.includes(host)))
  const columns: Record<string, ColumnDefinition> = {}
  for (const { vault } of table.columns) columns[vault] = withoutUnique(definition[vault] ?? column.string())
  for (const { host, name } of keyed) columns[name] = keyColumn(definition[host.vault] ?? column.string())
  const vault = await createVault<SchemaDefinition>({
    id: 'adopt-plan',
    schema: defineSchema<SchemaDefinition>({ rows: columns }),
    storage: memoryStorage(),
    keys: localKeys({ key: randomBytes(32).toString('base64') }),
    audit: 'off',
    limits: { maxRecords: maxRows, maxPageSize: maxRows },
  })
  const doubled = keyed.map(({ host, name }) => ({ ...host, vault: name }))
  return {
    session: vault.as(caller),
    table: { ...table, vaultTable: 'rows', columns: [...table.columns, ...doubled] },
    keyed,
    optional: table.columns
      .filter(({ vault: name }) => mayLackToken(definition[name]))
      .map(({ name, vault: own }) => ({ host: name, name: own })),
    close: () => vault.close(),
  }
}

/** The column without what compares rows with each other. */
function withoutUnique(definition: ColumnDefinition): ColumnDefinition {
  const { unique, columnGroup: _, ...rest } = definition
  if (unique !== true) return rest
  const searchable = rest.encrypted === false ? {} : { searchable: true }
  if (rest.type !== 'STRING') return { ...rest, ...searchable }
  return { ...rest, ...searchable, maxLength: Math.min(rest.maxLength ?? MAX_UNIQUE_LENGTH, MAX_UNIQUE_LENGTH) }
}

/** A column whose tokens are equal for equal values of a unique one. */
function keyColumn(definition: ColumnDefinition): ColumnDefinition {
  const normalize = 'normalize' in definition && definition.normalize !== undefined ? { normalize: definition.normalize } : {}
  const scale = definition.type === 'DECIMAL' ? { scale: definition.scale } : {}
  // A definition of another type has no normalizers and no scale.
  return { type: definition.type, token: 'deterministic', ...normalize, ...scale } as ColumnDefinition
}

/** Counts what rows would be refused for. Of values it keeps tokens of a key that no one has. */
class Counted {
  readonly #found = new Map<
    string,
    { finding: Omit<Finding, 'rows' | 'keys' | 'message'>; rows: number; keys: string[]; clause: string }
  >()
  readonly #tokens = new Map<string, Map<string, string>>()

  add(finding: Omit<Finding, 'rows' | 'keys' | 'message'>, clause: string, key: string): void {
    const name = `${finding.code} ${finding.column}`
    const found = this.#found.get(name) ?? { finding, rows: 0, keys: [], clause }
    this.#found.set(name, found)
    found.rows++
    if (found.keys.length < MAX_KEYS) found.keys.push(key)
  }

  /** Counts a row whose value an earlier one has. */
  addToken(columnName: string, token: string, key: string): void {
    const seen = this.#tokens.get(columnName) ?? new Map<string, string>()
    this.#tokens.set(columnName, seen)
    const earlier = seen.get(token)
    if (earlier === undefined) return void seen.set(token, key)
    this.add(
      { level: 'refused', code: 'conflict', column: columnName },
      'have a value that another row has, after normalization',
      key,
    )
  }

  findings(table: string): Finding[] {
    return [...this.#found.values()].map(({ finding, rows, keys, clause }) => ({
      ...finding,
      rows,
      keys,
      message: `${table}${finding.column === undefined ? '' : `.${finding.column}`}: ${rows} rows ${clause}.`,
    }))
  }
}

async function readRows(adopting: Adopting, connection: Connection, pos: string | null): Promise<HostRow[]> {
  const { engine, table, maxRows } = adopting
  const { text, parameters } = behind(adopting, 'h', pos)
  const reads = table.columns.map((one) => engine.read(one)).join(', ')
  const rows = await connection.all(
    `select ${keyNames(table, 'h')}, ${reads} from ${table.quoted} h where ${text} order by ${keyNames(table, 'h')} limit ${maxRows}`,
    parameters,
  )
  return rows.map((row) => ({ key: toJson(row.slice(0, table.key.length)), recordId: null, cells: row.slice(table.key.length) }))
}

async function tryRows(
  adopting: Adopting,
  connection: Connection,
  { session, table, keyed, optional }: Trial,
  { rows, counted }: { readonly rows: readonly HostRow[]; readonly counted: Counted },
): Promise<void> {
  if (rows.length === 0) return
  const doubled = rows.map((row) => ({
    ...row,
    cells: [...row.cells, ...keyed.map(({ position }) => row.cells[position] ?? null)],
  }))
  const { added, refused } = await storeRows(session, table, doubled)
  for (const { key, column: name, code } of refused)
    counted.add(
      { level: 'refused', code, ...(name === null ? {} : { column: name }) },
      'have a value that the vault refuses',
      key,
    )
  const different = await differentRows(
    { ...adopting, table: { ...table, columns: adopting.table.columns } },
    { connection, session },
    added,
  )
  for (const key of different)
    counted.add(
      { level: 'refused', code: 'altered' },
      `would come back written in another way: adopt ${columnNames(adopting.table)} as text`,
      key,
    )
  if (keyed.length + optional.length > 0 && added.length > 0) await countTokens(session, { added, keyed, optional, counted })
  await session.perform('delete', { table: 'rows', ids: ['*'] })
}

const WITHOUT_TOKEN =
  'have a value that the token format refuses: it is stored without a token, and finishing with tokens leaves NULL in its place'

async function countTokens(
  session: AdoptSession,
  {
    added,
    keyed,
    optional,
    counted,
  }: Pick<Trial, 'keyed' | 'optional'> & {
    readonly added: readonly { key: string; recordId: string }[]
    readonly counted: Counted
  },
): Promise<void> {
  const fields = [...keyed, ...optional].map(({ name }) => name)
  const { records } = await session.perform('get', {
    table: 'rows',
    options: { ids: added.map(({ recordId }) => recordId), tokenization: true, fields },
  })
  for (const [index, { key }] of added.entries()) {
    const tokens: Readonly<Record<string, unknown>> = records[index]?.fields ?? {}
    for (const members of uniqueKeys({ columns: keyed.map(({ host }) => host) })) {
      const texts = members.flatMap((host) => tokens[keyed.find((one) => one.host === host)?.name ?? ''] ?? [])
      if (texts.length === members.length) counted.addToken(members.map(({ name }) => name).join(', '), texts.join(' '), key)
    }
    for (const { host, name } of optional)
      if (tokens[name] === null) counted.add({ level: 'attention', code: 'no_token', column: host }, WITHOUT_TOKEN, key)
  }
}
