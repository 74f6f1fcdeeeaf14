/** Random lists of storage operations, and their replay on any storage in a form that can be compared. */

import fc from 'fast-check'
import { isVaultError } from '../../../src/core/errors.ts'
import type {
  Aggregate,
  Cell,
  DeleteTarget,
  Filter,
  NewRow,
  Page,
  Patch,
  PhysicalTable,
  Row,
  Storage,
} from '../../../src/core/ports/storage.ts'
import { unreachable } from '../../../src/core/util/causes.ts'
import { wholeBytes, wholeColumn } from './whole-column.ts'

export type Operation =
  | { readonly kind: 'insert'; readonly rows: readonly NewRow[] }
  | { readonly kind: 'get'; readonly ids: readonly number[] }
  | { readonly kind: 'find'; readonly filter: Filter; readonly page: Page }
  | { readonly kind: 'update'; readonly patches: readonly LoosePatch[] }
  | { readonly kind: 'commit'; readonly patches: readonly LoosePatch[]; readonly rows: readonly NewRow[] }
  | { readonly kind: 'delete'; readonly target: DeleteTarget }
  | { readonly kind: 'scan column'; readonly filter: Filter; readonly column: string; readonly limit: number }
  | { readonly kind: 'scan bytes'; readonly filter: Filter; readonly column: string; readonly limit: number }
  | { readonly kind: 'aggregate'; readonly filter: Filter; readonly aggregates: readonly Aggregate[] }
  | { readonly kind: 'reserve'; readonly count: number }
  | { readonly kind: 'transaction'; readonly operations: readonly Operation[]; readonly throws: boolean }

/** A patch with the version that the row has at its replay, plus `off`. It expects the cells that the row has in `same`, and those of `expected`. */
interface LoosePatch {
  readonly id: number
  readonly off: number
  readonly set: Readonly<Record<string, Cell>>
  readonly same: readonly string[]
  readonly expected: Readonly<Record<string, Cell>>
}

/** Every column type, indexed and not; `a` and `b, c` unique. */
export const PLAYGROUND: PhysicalTable = {
  name: 'playground',
  columns: [
    { name: 'a', type: 'text' },
    { name: 'b', type: 'integer' },
    { name: 'c', type: 'bytes' },
    { name: 'n', type: 'integer' },
    { name: 'r', type: 'real' },
    { name: 't', type: 'text' },
    { name: 'd', type: 'bytes' },
  ],
  indexes: [
    { columns: ['a'], unique: true },
    { columns: ['b', 'c'], unique: true },
    { columns: ['n'], unique: false },
    { columns: ['d'], unique: false },
    { columns: ['n', 't'], unique: false },
  ],
}

const TEXTS = [
  '',
  'a',
  'A',
  'b',
  'a\u0000',
  '\u0000',
  '\u0001',
  '\u0001\u0001',
  "o'k",
  '\\x00',
  '%',
  'é',
  '\uffee',
  '😀',
  'zz',
  '10',
  '9',
]
const INTEGERS = [0, 1, 2, 3, -1, 10, 9, 2 ** 31, 2 ** 53 - 1, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]
// Halves and quarters, so that sums are exact in any order of addition.
const REALS = [0, 0.5, -2.25, 1, 9, 10, 1024.75, -1e6]
const BYTES = ['', '00', '0000', '01', '7f', '80', 'ff', 'ff00'].map((hex) => new Uint8Array(Buffer.from(hex, 'hex')))

type Present = Exclude<Cell, null>
const CELLS: Readonly<Record<string, readonly Present[]>> = {
  id: [1, 3, 8, 12, 20],
  version: [1, 2, 3],
  a: TEXTS,
  b: INTEGERS,
  c: BYTES,
  n: INTEGERS,
  r: REALS,
  t: TEXTS,
  d: BYTES,
}

const COLUMNS = Object.keys(CELLS)
const OWN_COLUMNS = PLAYGROUND.columns.map((column) => column.name)
const BYTES_COLUMNS = PLAYGROUND.columns.filter(({ type }) => type === 'bytes').map(({ name }) => name)
const FREE_COLUMNS = ['n', 'r', 't', 'd']

const cellOf = (column: string) => fc.constantFrom(...(CELLS[column] ?? []))
const nullableCellOf = (column: string) => fc.option(cellOf(column), { freq: 3, nil: null })
const id = fc.integer({ min: 1, max: 16 })

/** Some of these columns with a cell each. */
function cells(columns: readonly string[]): fc.Arbitrary<Readonly<Record<string, Cell>>> {
  const entry = fc.constantFrom(...columns).chain((column) => nullableCellOf(column).map((cell) => [column, cell] as const))
  return fc.uniqueArray(entry, { selector: ([column]) => column }).map((entries) => Object.fromEntries(entries))
}

const operator = fc.constantFrom('=' as const, '<>' as const, '<' as const, '>' as const)

const leaf: fc.Arbitrary<Filter> = fc.constantFrom(...COLUMNS).chain((column) =>
  fc.oneof(
    fc.record({ kind: fc.constant('compare' as const), column: fc.constant(column), operator, value: cellOf(column) }),
    fc.record({
      kind: fc.constant('in' as const),
      column: fc.constant(column),
      values: fc.array(cellOf(column), { maxLength: 4 }),
    }),
    fc.record({ kind: fc.constant('isNull' as const), column: fc.constant(column) }),
  ),
)

const { filter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 3, arbitrary: leaf },
    { weight: 1, arbitrary: fc.constant<Filter>({ kind: 'all' }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('not' as const), filter: tie('filter') }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        filters: fc.array(tie('filter'), { maxLength: 3 }),
      }),
    },
  ),
}))

const page: fc.Arbitrary<Page> = fc.record(
  {
    order: fc.constantFrom('asc' as const, 'desc' as const),
    after: fc.integer({ min: 0, max: 17 }),
    skip: fc.integer({ min: 0, max: 4 }),
    limit: fc.integer({ min: 0, max: 12 }),
  },
  { requiredKeys: ['order', 'limit'] },
)

/** Aggregates of every engine: sums of integers, minimum and maximum of numbers and texts. */
const aggregate: fc.Arbitrary<Aggregate> = fc.oneof(
  fc.constant({ kind: 'count' as const }),
  fc.record({ kind: fc.constant('count' as const), column: fc.constantFrom(...COLUMNS) }),
  fc.record({ kind: fc.constant('sum' as const), column: fc.constantFrom('n', 'b', 'id') }),
  fc.record({ kind: fc.constantFrom('min' as const, 'max' as const), column: fc.constantFrom('n', 'r', 't', 'a', 'version') }),
)

const row: fc.Arbitrary<NewRow> = fc.tuple(id, cells(OWN_COLUMNS)).map(([given, rest]) => ({ ...rest, id: given }))

/** Mostly the current version, at times another. */
const off = fc.constantFrom(0, 0, 0, 1, -1)

/** Only a single patch may change unique columns: engines may check uniqueness per row or per statement. */
const patches: fc.Arbitrary<readonly LoosePatch[]> = fc.oneof(
  patchOf(OWN_COLUMNS).map((patch) => [patch]),
  fc.array(patchOf(FREE_COLUMNS), { maxLength: 5 }),
)

/** A patch of some of these columns, which mostly expects nothing, or what the row has. */
function patchOf(columns: readonly string[]): fc.Arbitrary<LoosePatch> {
  const same = fc.oneof(fc.constant([]), fc.uniqueArray(fc.constantFrom(...OWN_COLUMNS), { maxLength: 3 }))
  const expected = fc.oneof({ weight: 5, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: cells(OWN_COLUMNS) })
  return fc.record({ id, off, set: cells(columns), same, expected })
}

const { operation } = fc.letrec<{ operation: Operation }>((tie) => ({
  operation: fc.oneof(
    { maxDepth: 3 },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('insert' as const), rows: fc.array(row, { maxLength: 3 }) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('get' as const), ids: fc.array(id, { maxLength: 6 }) }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('find' as const), filter, page }) },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('update' as const), patches }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('commit' as const),
        patches: fc.uniqueArray(patchOf(FREE_COLUMNS), { selector: (patch) => patch.id, maxLength: 2 }),
        rows: fc.array(row, { maxLength: 3 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('delete' as const), target: fc.record({ ids: fc.array(id, { maxLength: 3 }) }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), target: fc.record({ filter: leaf }) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('scan column' as const),
        filter,
        column: fc.constantFrom('id', 'version', ...COLUMNS),
        limit: fc.integer({ min: 1, max: 20 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('scan bytes' as const),
        filter,
        column: fc.constantFrom(...BYTES_COLUMNS),
        limit: fc.constantFrom(1, 3, 150),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('aggregate' as const),
        filter,
        aggregates: fc.array(aggregate, { maxLength: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reserve' as const), count: fc.integer({ min: 0, max: 5 }) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('transaction' as const),
        operations: fc.array(tie('operation'), { maxLength: 5 }),
        throws: fc.boolean(),
      }),
    },
  ),
}))

/** Lists of at most this many operations, without those inside transactions. */
export function operationLists(length: number): fc.Arbitrary<readonly Operation[]> {
  return fc.array(operation, { minLength: 1, maxLength: length, size: 'max' })
}

/** Rows that the table has before the first operation, so that most operations find rows. */
const POPULATION: readonly NewRow[] = [2, 3, 5, 7, 8, 11, 12, 13].map((id, at) => ({
  id,
  a: TEXTS[at * 2] ?? null,
  b: INTEGERS[at % 3] ?? null,
  c: BYTES[at] ?? null,
  n: INTEGERS[at] ?? null,
  r: REALS[at] ?? null,
  t: at === 3 ? null : (TEXTS[at] ?? null),
  d: at === 5 ? null : (BYTES[at % 3] ?? null),
}))

/** Replays a list. Returns one text per operation, and the rows at the end. They must be equal for all storages. */
export async function replay(storage: Storage, operations: readonly Operation[]): Promise<readonly string[]> {
  await storage.delete(PLAYGROUND.name, { filter: { kind: 'all' } })
  await storage.insert(PLAYGROUND.name, POPULATION)
  const answers: string[] = []
  for (const each of operations) answers.push(await answerOf(storage, each))
  const rows = await storage.find(PLAYGROUND.name, { kind: 'all' }, { order: 'asc', limit: 1000 })
  return [...answers, `left: ${toText(rows)}`]
}

/** The error that rolls a transaction back on purpose. */
class RolledBack extends Error {}

/** The result as text. A conflict counts as a result; any other error is thrown on. */
async function answerOf(storage: Storage, operation: Operation): Promise<string> {
  try {
    return `${operation.kind}: ${toText(await perform(storage, operation))}`
  } catch (error) {
    // If several unique indexes are violated, each engine may name another one.
    if (isVaultError(error, 'conflict')) return `${operation.kind}: conflict`
    if (error instanceof RolledBack) return `${operation.kind}: rolled back after ${error.message}`
    throw error
  }
}

async function perform(storage: Storage, operation: Operation): Promise<unknown> {
  const table = PLAYGROUND.name
  switch (operation.kind) {
    case 'insert':
      return storage.insert(table, operation.rows)
    case 'get':
      return storage.get(table, operation.ids)
    case 'find':
      return storage.find(table, operation.filter, operation.page)
    case 'update':
      return update(storage, operation.patches)
    case 'commit':
      return commit(storage, operation)
    case 'delete':
      return storage.delete(table, operation.target)
    case 'scan column':
      return wholeColumn(storage, PLAYGROUND.name, operation)
    case 'scan bytes':
      return wholeBytes(storage, PLAYGROUND.name, operation)
    case 'aggregate':
      return await storage.aggregate(table, operation.filter, operation.aggregates)
    case 'reserve':
      return areFresh(await storage.reserveIds(table, operation.count), operation.count)
    case 'transaction':
      return storage.transaction((inner) => performAll(inner, operation.operations, operation.throws))
    default:
      return unreachable(operation)
  }
}

/**
 * A conflict among the operations ends their transaction, as it must on an engine that gives a transaction up after
 * an error; one of a nested transaction is a result, and the outer one continues.
 */
async function performAll(storage: Storage, operations: readonly Operation[], throws: boolean): Promise<readonly string[]> {
  const answers: string[] = []
  for (const each of operations) {
    const isNested = each.kind === 'transaction'
    answers.push(isNested ? await answerOf(storage, each) : `${each.kind}: ${toText(await perform(storage, each))}`)
  }
  if (throws) throw new RolledBack(answers.join('; '))
  return answers
}

async function update(storage: Storage, patches: readonly LoosePatch[]): Promise<readonly boolean[]> {
  return storage.update(PLAYGROUND.name, await exactPatches(storage, patches))
}

/** No row occurs twice. Which of a missed patch and a conflict is noticed first is not specified, and both change nothing. */
async function commit(
  storage: Storage,
  { patches, rows }: { readonly patches: readonly LoosePatch[]; readonly rows: readonly NewRow[] },
): ReturnType<Storage['commit']> {
  const patched = new Set(patches.map((patch) => patch.id))
  const inserts = [{ table: PLAYGROUND.name, rows: rows.filter((one) => !patched.has(one.id)) }]
  const updates = [{ table: PLAYGROUND.name, patches: await exactPatches(storage, patches) }]
  try {
    return await storage.commit({ updates, inserts })
  } catch (error) {
    if (isVaultError(error, 'conflict')) return false
    throw error
  }
}

async function exactPatches(storage: Storage, patches: readonly LoosePatch[]): Promise<Patch[]> {
  const rows = await storage.get(
    PLAYGROUND.name,
    patches.map((patch) => patch.id),
  )
  return patches.map(({ id: row, off: more, set, same, expected }, at) => ({
    id: row,
    version: versionOf(rows[at]) + more,
    set,
    expected: { ...Object.fromEntries(same.map((column) => [column, rows[at]?.[column] ?? null])), ...expected },
  }))
}

function versionOf(row: Row | undefined): number {
  return row?.version ?? 1
}

/** Ids differ between engines, but they rise on all of them. */
function areFresh(ids: readonly number[], count: number): boolean {
  return ids.length === count && ids.every((given, at) => at === 0 || given > (ids[at - 1] ?? 0))
}

/** A text that is equal for equal results: sorted keys, tagged types, reals to twelve digits. */
export function toText(answer: unknown): string {
  if (answer instanceof Uint8Array) return `${answer.constructor.name}(${Buffer.from(answer).toString('hex')})`
  if (Array.isArray(answer)) return `[${answer.map(toText).join(', ')}]`
  if (typeof answer === 'bigint') return `${answer}n`
  if (typeof answer === 'number') return Number.isSafeInteger(answer) ? String(answer + 0) : answer.toPrecision(12)
  if (typeof answer === 'object' && answer !== null) {
    const entries = Object.entries(answer).toSorted(([left], [right]) => (left < right ? -1 : 1))
    return `{${entries.map(([key, cell]) => `${key}: ${toText(cell)}`).join(', ')}}`
  }
  return JSON.stringify(answer) ?? 'nothing'
}
