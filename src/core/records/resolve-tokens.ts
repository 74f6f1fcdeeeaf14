/** From texts to what they stand for: pointers undisguised, derived tokens traced, remembered ones looked up, and every claim proven on the opened cell. */
import { digestValues, isSameValue } from '../barrier/digest-values.ts'
import type { OpenRows } from '../barrier/reveal.ts'
import { openRows } from '../barrier/reveal.ts'
import { revealTransients } from '../barrier/transients.ts'
import { VaultError } from '../errors.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { readPointer } from '../sealing/pointer.ts'
import { sameBytes } from '../util/bytes.ts'
import { unreachable } from '../util/unreachable.ts'
import { ValueFault } from '../values/column-type.ts'
import { findByDigest } from '../row-access/find-by-digest.ts'
import type { StoreContext } from './writing-context.ts'
import { nowMs } from './writing-context.ts'
import { findTokens } from './token-store.ts'
import { getTransients } from './transient-store.ts'

/** What a token stands for. `row` is the record's; undefined where the value lives apart from any. */
export interface Resolved {
  readonly table: Table
  readonly column: Column
  readonly value: unknown
  readonly row: Row | undefined
}

/** What became of one token: what it stands for, an error of its own, or nothing. */
export type Resolution = Resolved | VaultError | undefined

/** Whose tokens count. Which of several leads is followed is decided among these alone: what else is stored must not show. */
export interface Reach {
  /** The first row within reach that holds each digest, undefined where there is none. */
  findRows(table: Table, column: Column, digests: readonly Uint8Array[]): Promise<(Row | undefined)[]>
  /** The same resolutions, those beyond reach undefined. */
  within(found: readonly Resolution[]): readonly Resolution[]
}

/** What the cell must show for the token to be its own. */
type Proof =
  | { readonly kind: 'stamp'; readonly high: number; readonly low: number }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly digest: Uint8Array }

/** A cell that a token may stand for. */
interface Lead {
  readonly place: number
  readonly table: Table
  readonly column: Column
  readonly row: number
  readonly proof: Proof
}

/** A lead and what it came to. */
type Followed = readonly [lead: Lead, resolution: Resolution]

/**
 * What each text stands for, in order. Unknown, malformed, foreign, dead and expired ones all walk the same way to nothing:
 * each is tried as a pointer, and then as a derived and as a remembered token.
 */
export async function resolveTokens(context: TokenContext, texts: readonly string[], reach: Reach): Promise<Resolution[]> {
  const found = settle(texts.length, reached(reach, await followLeads(context, pointerLeads(context, texts))))
  const open = found.flatMap((one, place) => (one === undefined ? [place] : []))
  if (open.length === 0) return found
  const leads = [...(await derivedLeads(context, texts, { open, reach })), ...(await storedLeads(context, texts, open))]
  const rest = settle(texts.length, reached(reach, await followLeads(context, leads)))
  for (const place of open) found[place] = rest[place]
  return found
}

/** What following leads needs. */
type TokenContext = Pick<StoreContext, 'unit' | 'barrier' | 'layout' | 'clock'>

function reached(reach: Reach, followed: readonly Followed[]): Followed[] {
  const kept = reach.within(followed.map(([, resolution]) => resolution))
  return followed.map(([lead], index) => [lead, kept[index]])
}

/** One resolution for each place. A text that stands for values of columns that do not belong together is refused: any choice could be the wrong one. */
function settle(places: number, followed: readonly Followed[]): Resolution[] {
  const found: Resolution[] = new Array(places).fill(undefined)
  for (const [{ place }, resolution] of followed) {
    const earlier = found[place]
    if (resolution === undefined || earlier instanceof VaultError) continue
    if (earlier === undefined) found[place] = resolution
    else if (!(resolution instanceof VaultError) && !isSame(earlier, resolution)) found[place] = ambiguous(place)
  }
  return found
}

/** True when both are the same value of one scope: which of its records is named does not matter. */
function isSame(left: Resolved, right: Resolved): boolean {
  return left.column.scope === right.column.scope && isSameValue(left.column, left.value, right.value)
}

function ambiguous(index: number): VaultError {
  return new VaultError(
    'unprocessable',
    `The token at position ${index} stands for values of several columns, whose token formats overlap. Read the record by its id, or put the columns in one group.`,
    { index },
  )
}

/** What each text stands for as a derived token: such a token is taken though nothing is stored of it. */
export async function resolveDerived(context: TokenContext, texts: readonly string[]): Promise<Resolution[]> {
  const open = [...texts.keys()]
  const reach = { findRows: findAmongAll(context.unit.storage) }
  const leads = texts.length === 0 ? [] : await derivedLeads(context, texts, { open, reach })
  return settle(texts.length, await followLeads(context, leads))
}

/** The id of no row: ids begin with 1. */
const NO_ROW = 0

function pointerLeads({ barrier, layout }: TokenContext, texts: readonly string[]): Lead[] {
  const { words, wellFormed } = barrier.ring.undisguise(texts)
  const [anyHome] = layout.tokenSpaces.values()
  return texts.flatMap((_, place): Lead[] => {
    const { space, row, checkHigh, checkLow } = readPointer(words, place)
    const home = wellFormed[place] === 1 ? layout.tokenSpaces.get(space) : undefined
    if (home !== undefined) return [{ place, ...home, row, proof: { kind: 'stamp', high: checkHigh, low: checkLow } }]
    // What leads nowhere takes as long as what leads to a record that is gone: it looks for a row that never was.
    return anyHome === undefined ? [] : [{ place, ...anyHome, row: NO_ROW, proof: { kind: 'stamp', high: 0, low: 0 } }]
  })
}

/** Every record counts. */
export function findAmongAll(storage: StorageReads): Reach['findRows'] {
  return (table, column, digests) => findByDigest(storage, table, column, digests)
}

async function derivedLeads(
  context: TokenContext,
  texts: readonly string[],
  { open, reach }: { readonly open: readonly number[]; readonly reach: Pick<Reach, 'findRows'> },
): Promise<Lead[]> {
  const leads: Lead[] = []
  for (const { table, column } of context.layout.tokenSpaces.values()) {
    if (column.token?.keeps !== 'nothing') continue
    const traced = traceTexts(
      context,
      column,
      open.map((place) => texts[place] ?? ''),
    )
    const claims = open.flatMap((place, index) => (traced[index] === undefined ? [] : [{ place, digest: traced[index] }]))
    const digests = claims.map(({ digest }) => digest)
    const rows = digests.length === 0 ? [] : await reach.findRows(table, column, digests)
    for (const [index, { place, digest }] of claims.entries()) {
      const row = rows[index]
      if (row !== undefined) leads.push({ place, table, column, row: row.id, proof: { kind: 'value', digest } })
    }
  }
  return leads
}

/** The digest of the value each text would stand for in this column; undefined where it can be no token of it. */
function traceTexts({ barrier }: TokenContext, column: Column, texts: readonly string[]): (Uint8Array | undefined)[] {
  const traces = column.token?.trace({ ring: barrier.ring, scope: column.scope, format: column.format }, texts) ?? []
  return traces.map((trace) => {
    if (trace === undefined || trace.kind === 'digest') return trace?.digest
    const value = valueOfText(column, trace.shown)
    return value === undefined ? undefined : digestValues(barrier.ring, column, [value])[0]
  })
}

function valueOfText(column: Column, text: string): unknown {
  try {
    return column.type.fromText(text)
  } catch (error) {
    if (error instanceof ValueFault) return undefined
    throw error
  }
}

async function storedLeads(context: TokenContext, texts: readonly string[], open: readonly number[]): Promise<Lead[]> {
  const homes = await findTokens(
    context.unit.storage,
    context.barrier.ring,
    open.map((place) => texts[place] ?? ''),
  )
  return open.flatMap((place, index) => {
    const home = homes[index]
    const column = home === undefined ? undefined : context.layout.tokenSpaces.get(home.space)
    return home === undefined || column === undefined
      ? []
      : [{ place, ...column, row: home.row, proof: { kind: 'text', text: texts[place] ?? '' } }]
  })
}

/** Reads what the leads point at, one table or, where values live apart, one column at a time, and keeps what is proven. */
async function followLeads(context: TokenContext, leads: readonly Lead[]): Promise<Followed[]> {
  const groups = new Map<Table | Column, Lead[]>()
  for (const lead of leads) {
    const home = lead.column.token?.expires === true ? lead.column : lead.table
    const group = groups.get(home)
    if (group === undefined) groups.set(home, [lead])
    else group.push(lead)
  }
  const followed: Followed[] = []
  for (const group of groups.values()) {
    const isApart = group[0]?.column.token?.expires === true
    followed.push(...(await (isApart ? followTransients(context, group) : followRecords(context, group))))
  }
  return followed
}

async function followRecords(context: TokenContext, leads: readonly Lead[]): Promise<Followed[]> {
  const table = leads[0]?.table
  if (table === undefined) return []
  const rows = await context.unit.storage.get(
    table.physical.name,
    leads.map(({ row }) => row),
  )
  const live = rows.filter((row) => row !== undefined)
  const cursor = openRows(context.barrier, table, live)
  let next = 0
  return leads.map((lead, index) => {
    const row = rows[index]
    if (row === undefined) return [lead, undefined]
    try {
      cursor.to(next++)
    } catch (error) {
      if (error instanceof VaultError) return [lead, error]
      throw error
    }
    const { column } = lead
    const value = cursor.value(column)
    const stands = value !== null && isProven(context, cursor, lead, value)
    return [lead, stands ? { table, column, value, row } : undefined]
  })
}

/** True when the opened cell keeps what the token claims. */
function isProven({ barrier }: TokenContext, cursor: OpenRows, { column, proof }: Lead, value: unknown): boolean {
  switch (proof.kind) {
    case 'stamp':
      return cursor.hasStamp(column, proof.high, proof.low)
    case 'text':
      return cursor.tokenText(column) === proof.text
    case 'value': {
      const [digest] = digestValues(barrier.ring, column, [value])
      return digest !== undefined && sameBytes(digest, proof.digest)
    }
    default:
      return unreachable(proof)
  }
}

async function followTransients(context: TokenContext, leads: readonly Lead[]): Promise<Followed[]> {
  const first = leads[0]
  if (first === undefined) return []
  const rows = await getTransients(
    context.unit.storage,
    leads.map(({ row }) => row),
  )
  const found = revealTransients(
    context.barrier,
    first.column,
    rows.filter((row) => row !== undefined),
  )
  const now = nowMs(context)
  let next = 0
  return leads.map((lead, index) => {
    if (rows[index] === undefined) return [lead, undefined]
    const one = found[next++]
    // A body that does not open here is as a rule another column's value: it says nothing to this token.
    if (one === undefined || !one.isWhole || one.expiresAt <= now) return [lead, undefined]
    const { proof } = lead
    const stands =
      proof.kind === 'stamp'
        ? one.text === undefined && one.high === proof.high && one.low === proof.low
        : proof.kind === 'text' && one.text === proof.text
    return [lead, stands ? { table: lead.table, column: lead.column, value: one.value, row: undefined } : undefined]
  })
}
