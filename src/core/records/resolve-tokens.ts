/** Resolves tokens to values: finds candidates by pointer, derivation and stored token, and verifies each on the opened cell. */
import { comparedText, digestValues, isSameValue, keyOfCell } from '../barrier/digest-values.ts'
import { type Fault, fault, VaultError } from '../errors.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import { findByDigest } from '../row-access/find-visible.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { TRANSIENTS } from '../schema/system-tables.ts'
import { readPointer, toUuidTexts } from '../sealing/envelope.ts'
import { digestOf } from '../tokens/deterministic-kind.ts'
import { at, groupBy, present, required } from '../util/lists.ts'
import { ValueError } from '../values/column-type.ts'
import { findSuccessors, showsDigest } from './former-tokens.ts'
import { findTokens } from './token-store.ts'
import { type CheckedCandidate, NO_ROW, NO_TOKEN, type Resolved, TokenCandidate, verifyCandidates } from './verify-candidates.ts'

/** The result for one token: its value, an error of its own, or undefined if it is not a token. */
export type Resolution<Found extends Resolved = Resolved> = Found | VaultError | undefined

/** The records that count. A choice between several candidates considers only these, so that hidden records have no effect. */
export interface Visibility<Visible extends Resolved> {
  /** Returns the first visible row with each digest, in order; undefined if there is none. */
  findRows(table: Table, column: Column, digests: readonly Uint8Array[]): Promise<(Row | undefined)[]>
  /** Returns the resolutions, with undefined in place of invisible ones. */
  keepVisible(found: readonly Resolution[]): readonly Resolution<Visible>[]
}

/**
 * Returns the resolution of each text, in order. A text is tried as a pointer, then as a derived and as a stored token. For a text
 * without a resolution, storage is called equally often, as many rows are opened and as many accesses evaluated, whether its row does
 * not exist, is hidden, expired or holds another token: where there was no row, another one is read in its place.
 */
export async function resolveTokens<Visible extends Resolved>(
  storage: StorageReads,
  context: ReadingContext,
  wanted: WantedTokens<Visible>,
): Promise<Resolution<Visible>[]> {
  const { pointers, others } = pointerCandidates(context, wanted.texts, context.barrier.ring.lookupVersion)
  const pointed = await verifyCandidates(storage, context, pointers)
  const found = chooseVisible(wanted, pointed)
  return found.includes(undefined) ? resolveOthers(storage, context, wanted, { pointed, others, found }) : found
}

/** The texts to resolve, and the records that count. */
interface WantedTokens<Visible extends Resolved> {
  readonly texts: readonly string[]
  readonly visibility: Visibility<Visible>
}

/** Returns one resolution for each text. Access is evaluated for cells that are not verified too: it is part of the equal work. */
function chooseVisible<Visible extends Resolved>(
  { texts, visibility }: WantedTokens<Visible>,
  checked: readonly CheckedCandidate[],
): Resolution<Visible>[] {
  return chooseOne(texts.length, checked, visibility.keepVisible(checked.map(({ resolution }) => resolution)))
}

/** What texts are as pointers. `others` is as in `PointerCandidates`. */
interface Pointed<Visible extends Resolved> extends Pick<PointerCandidates, 'others'> {
  readonly pointed: readonly CheckedCandidate[]
  readonly found: Resolution<Visible>[]
}

/** Completes `found`: resolves the texts that are no pointers of visible cells. By itself, because all texts mostly are, and a function that awaits often takes much memory. */
async function resolveOthers<Visible extends Resolved>(
  storage: StorageReads,
  context: ReadingContext,
  wanted: WantedTokens<Visible>,
  { pointed, others, found }: Pointed<Visible>,
): Promise<Resolution<Visible>[]> {
  const { texts, visibility } = wanted
  const former = await resolveFormerPointers(storage, context, wanted, found)
  const open = texts.flatMap((text, index) => (found[index] === undefined ? [{ index, text }] : []))
  const derived = await derivedCandidates(storage, context, open, visibility.findRows)
  const candidates = [...derived, ...(await storedCandidates(storage, context, { open, derived }))]
  const looked = await verifyCandidates(storage, context, candidates)
  const rest = chooseVisible(wanted, looked)
  for (const { index } of open) found[index] = rest[index]
  const unresolved = others.filter(({ index }) => found[index] === undefined)
  const malformed = await verifyCandidates(storage, context, unresolved)
  chooseVisible(wanted, malformed)
  for (const checked of [[...pointed, ...former, ...malformed], looked]) {
    const failed = checked.filter(({ candidate }) => found[candidate.index] === undefined)
    if (failed.length > 0) chooseVisible(wanted, await verifyCandidates(storage, context, await decoysOf(storage, failed)))
  }
  return found
}

/** Completes `found` by the texts that are pointers of the other root key, while look-up keys are rotated. */
async function resolveFormerPointers<Visible extends Resolved>(
  storage: StorageReads,
  context: ReadingContext,
  wanted: WantedTokens<Visible>,
  found: Resolution<Visible>[],
): Promise<readonly CheckedCandidate[]> {
  const { lookupVersion, lookupVersions } = context.barrier.ring
  const other = lookupVersions.find((version) => version !== lookupVersion)
  if (other === undefined) return []
  const { pointers } = pointerCandidates(context, wanted.texts, other)
  const open = pointers.filter(({ index }) => found[index] === undefined)
  const checked = await verifyCandidates(storage, context, open)
  const resolved = chooseVisible(wanted, checked)
  for (const { index } of open) found[index] = resolved[index]
  return checked
}

/** Returns the resolution of each text as a derived token, among all records. Such a token is in use although it is not stored. */
export async function resolveDerived(
  storage: StorageReads,
  context: ReadingContext,
  texts: readonly string[],
): Promise<Resolution[]> {
  if (texts.length === 0) return []
  const open = texts.map((text, index) => ({ index, text }))
  const candidates = await derivedCandidates(storage, context, open, (table, column, digests) =>
    findByDigest(storage, { table, column }, digests),
  )
  const checked = await verifyCandidates(storage, context, candidates)
  return chooseOne(
    texts.length,
    checked,
    checked.map(({ resolution }) => resolution),
  )
}

/**
 * Returns one resolution for each index, of verified candidates alone. `resolutions` has one for each candidate. A text that is a token of
 * unrelated columns gives an error, because any choice could be wrong.
 */
function chooseOne<Found extends Resolved>(
  count: number,
  checked: readonly CheckedCandidate[],
  resolutions: readonly Resolution<Found>[],
): Resolution<Found>[] {
  const found: Resolution<Found>[] = []
  for (let index = 0; index < count; index++) found.push(undefined)
  for (let k = 0; k < checked.length; k++) {
    const { candidate, isVerified } = required(checked[k])
    const { index } = candidate
    const resolution = isVerified ? resolutions[k] : undefined
    const earlier = found[index]
    if (resolution === undefined || earlier instanceof VaultError) continue
    if (earlier === undefined) found[index] = resolution
    else if (!(resolution instanceof VaultError) && !isSame(earlier, resolution)) found[index] = ambiguous(index)
  }
  return found
}

/** True if both are the same value in one digest scope. It does not matter then which record is returned. */
function isSame(left: Resolved, right: Resolved): boolean {
  return left.column.scope === right.column.scope && isSameValue(left.column, left.value, right.value)
}

function ambiguous(index: number): Fault {
  return fault('unprocessable', {
    index,
  })`tokens[${index}] is ambiguous: several columns with overlapping formats accept it. Read the record by its id, or put the columns in one group.`
}

/** Candidates of texts as pointers. */
interface PointerCandidates {
  /** Of texts that have the form of a pointer. */
  readonly pointers: readonly TokenCandidate[]
  /** Of other texts, which are read only if they have no resolution: the caller knows the form of a text, so it may decide what is read. */
  readonly others: readonly TokenCandidate[]
}

function pointerCandidates({ barrier, layout }: ReadingContext, texts: readonly string[], version: number): PointerCandidates {
  const { words, wellFormed } = barrier.ring.decryptPointers(version, toUuidTexts(texts))
  const expected = { kind: 'check', pointers: words } as const
  const pointers: TokenCandidate[] = []
  const others: TokenCandidate[] = []
  const missing = missingCandidates(layout, 'check')
  // Neighbors are mostly of one column.
  let of = -1
  let found: TokenColumn | undefined
  for (let index = 0; index < texts.length; index++) {
    const { objectId, row } = readPointer(words, index)
    const isPointer = wellFormed[index] === 1
    if (objectId !== of) found = layout.tokenColumns.get(objectId)
    of = objectId
    // Without a cell, reads row 0, which never exists, so that an invalid token takes as long as the token of a deleted record.
    const candidate =
      isPointer && found !== undefined
        ? new TokenCandidate(index, { table: found.table, column: found.column, row, expected })
        : missing(index, objectId)
    if (candidate !== undefined) (isPointer ? pointers : others).push(candidate)
  }
  return { pointers, others }
}

/** A column that keeps tokens, and its table. */
type TokenColumn = Pick<TokenCandidate, 'table' | 'column'>

/**
 * Returns a function for the candidates of texts that name no cell: row 0 of a column that keeps tokens in this way. `seed` is a number of the
 * text, which decides the column, so that the text costs what a token of that column costs; none if there is no such column.
 */
function missingCandidates(layout: Layout, keeps: 'check' | 'text'): (index: number, seed: number) => TokenCandidate | undefined {
  const columns = [...layout.tokenColumns.values()].filter(({ column }) => column.token?.keeps === keeps)
  return (index, seed) => {
    const found = columns[seed % columns.length]
    return found && new TokenCandidate(index, { ...found, row: NO_ROW, expected: NO_TOKEN })
  }
}

/** A text that has no resolution yet. */
interface OpenText {
  readonly index: number
  readonly text: string
}

async function derivedCandidates(
  storage: StorageReads,
  context: ReadingContext,
  open: readonly OpenText[],
  findRows: Visibility<Resolved>['findRows'],
): Promise<TokenCandidate[]> {
  const candidates: TokenCandidate[] = []
  const texts = open.map(({ text }) => text)
  const { ring } = context.barrier
  const add = async ({ table, column }: TokenColumn, possible: readonly RecoveredDigest[]): Promise<void> => {
    const digests = possible.map(({ stored }) => stored)
    const rows = digests.length === 0 ? [] : await findRows(table, column, digests)
    for (const [k, { position, digest }] of possible.entries()) {
      const row = rows[k]
      if (row === undefined) continue
      const { index } = at(open, position)
      candidates.push(new TokenCandidate(index, { table, column, row: row.id, read: row, expected: { kind: 'value', digest } }))
    }
  }
  const derived = [...context.layout.tokenColumns.values()].filter(({ column }) => column.token?.keeps === 'nothing')
  for (const one of derived) await add(one, recoverDigests(ring, one.column, texts))
  if (ring.lookupVersions.length === 1) return candidates
  // After the digests themselves: a row that has given one up meanwhile has its successor.
  const former = await formerDigests(storage, texts)
  for (const one of derived) if (showsDigest(one.column)) await add(one, former)
  return candidates
}

/** What a text can be derived from: the digest of the value, and the digest by which rows are looked up, another one only while look-up keys are rotated. */
interface RecoveredDigest {
  /** The position of the text. */
  readonly position: number
  readonly digest: Uint8Array
  readonly stored: Uint8Array
}

/** Returns what has replaced the digests that texts show as deterministic tokens. */
async function formerDigests(storage: StorageReads, texts: readonly string[]): Promise<RecoveredDigest[]> {
  const shown = texts.map(digestOf)
  const successors = await findSuccessors(storage, present(shown))
  return shown.flatMap((digest, position) => {
    const stored = digest && successors.get(keyOfCell(digest))
    return digest === undefined || stored === undefined ? [] : [{ position, digest, stored }]
  })
}

/** Returns what each text can be derived from in this column, by each root key. */
function recoverDigests(ring: KeyRing, column: Column, texts: readonly string[]): RecoveredDigest[] {
  const kind = required(column.token, 'The token kind of a tokenized column')
  const { scope, format } = column
  const { lookupVersions } = ring
  return lookupVersions.flatMap((version, nth) => {
    const recovered = kind.recover({ ring, version, scope, format }, texts)
    const possible = recovered.flatMap((one, position): RecoveredDigest[] =>
      // A text that shows a digest shows the same one by whichever key.
      one?.kind === 'digest' && nth === 0 ? [{ position, digest: one.digest, stored: one.digest }] : [],
    )
    const values = recovered.flatMap((one, position) => {
      const value = one?.kind === 'text' ? valueOfText(column, one.shown) : undefined
      return value === undefined ? [] : [{ position, value }]
    })
    // That of new digests last: a row can get it meanwhile, and never gives it up.
    for (let of = lookupVersions.length - 1; of >= 0; of--) {
      const digests = digestValues(
        ring,
        column,
        values.map(({ value }) => value),
        lookupVersions[of],
      )
      for (const [k, digest] of digests.entries()) possible.push({ position: at(values, k).position, digest, stored: digest })
    }
    return possible
  })
}

function valueOfText(column: Column, text: string): unknown {
  try {
    const value = column.type.fromText(text)
    // Tokens are derived from normal forms. A token of another text was never given out.
    return column.normalize.length === 0 || comparedText(column, value) === text ? value : undefined
  } catch (error) {
    if (error instanceof ValueError) return undefined
    throw error
  }
}

/** Returns a candidate for each open text: the cell that stores it, or none that exists, unless it may be a derived token. */
async function storedCandidates(
  storage: StorageReads,
  { barrier, layout }: ReadingContext,
  { open, derived }: { readonly open: readonly OpenText[]; readonly derived: readonly TokenCandidate[] },
): Promise<TokenCandidate[]> {
  const texts = open.map(({ text }) => text)
  const locations = await findTokens(storage, barrier.ring, texts)
  const isDerived = new Set(derived.map(({ index }) => index))
  const missing = missingCandidates(layout, 'text')
  return open.flatMap(({ index, text }, k): TokenCandidate[] => {
    const location = locations[k]
    const found = location === undefined ? undefined : layout.tokenColumns.get(location.objectId)
    if (location !== undefined && found !== undefined) {
      return [new TokenCandidate(index, { ...found, row: location.row, expected: { kind: 'text', text } })]
    }
    const none = isDerived.has(index) ? undefined : missing(index, sumOf(text))
    return none === undefined ? [] : [none]
  })
}

/** Returns a number that depends on the text alone. */
function sumOf(text: string): number {
  let sum = 0
  for (let i = 0; i < text.length; i++) sum += text.charCodeAt(i)
  return sum
}

/**
 * Returns a candidate for each of these, in the same table: one of the newest rows where the candidate had no row, and no row where it
 * had one. So each candidate and its decoy together read one row. The result of a decoy must be dropped.
 */
async function decoysOf(storage: StorageReads, failed: readonly CheckedCandidate[]): Promise<TokenCandidate[]> {
  const decoys: TokenCandidate[] = []
  for (const [name, group] of groupBy(failed, readFrom)) {
    const newest = await storage.find(name, { kind: 'all' }, { order: 'desc', limit: group.length, columns: [] })
    for (const [k, { candidate, isFound }] of group.entries()) {
      const row = isFound ? undefined : newest[k % newest.length]
      const { table, column, read } = candidate
      // Compared with a token check, so that its row is not reported as one that a digest found.
      decoys.push(new TokenCandidate(candidate.index, { table, column, read, row: row?.id ?? NO_ROW, expected: NO_TOKEN }))
    }
  }
  return decoys
}

/** Returns the name of the table that a candidate is read from. */
function readFrom({ candidate: { table, column } }: CheckedCandidate): string {
  return column.token?.expires === true ? TRANSIENTS.name : table.physical.name
}
