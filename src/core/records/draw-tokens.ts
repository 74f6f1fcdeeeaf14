/** Draws tokens in their formats, none of them taken, for the values that are to have one and bring none. */
import { comparedText } from '../barrier/digest-values.ts'
import type { TokenTexts } from '../barrier/marks.ts'
import type { Place } from '../barrier/parse-record.ts'
import { VaultError } from '../errors.ts'
import type { Column, Table } from '../schema/layout.ts'
import { drawRanks } from '../tokens/draw-ranks.ts'
import { TokenFault, type TokenShape } from '../tokens/token-format.ts'
import type { StoreContext } from './writing-context.ts'
import { resolveDerived } from './resolve-tokens.ts'
import { findTokens } from './token-store.ts'
import type { Writing } from './write-request.ts'

/** Times every token that turned out to be taken is drawn again, before its neighbours are walked through in order. */
const MOST_DRAWS = 32
/** Neighbours looked at, a slice at a time, before a format counts as exhausted. */
const MOST_NEIGHBOURS = 10_000
const SLICE = 1_000

/** A cell that is to have a drawn token. */
interface Drawing {
  readonly row: number
  readonly column: Column
  readonly shape: TokenShape
  text: string
}

/** The texts brought, and beside them a drawn one for every value of a column whose kind keeps a text. Throws `unprocessable` for a value that fits no format. */
export async function drawTokens(
  context: StoreContext,
  table: Table,
  { records, brought, verb, indexes }: Writing,
): Promise<TokenTexts> {
  const formatted = table.tokenized.filter((column) => column.token?.hasFormat === true)
  if (formatted.length === 0) return brought
  const drawings: Drawing[] = []
  for (const [row, values] of records.entries()) {
    for (const column of formatted) {
      const value = values[column.position]
      if (value === undefined || value === null) continue
      const shape = shapeOf(table, column, value, { verb, index: indexes[row] ?? row })
      if (shape !== undefined && brought[row]?.has(column.name) !== true) drawings.push({ row, column, shape, text: '' })
    }
  }
  if (drawings.length === 0) return brought
  await settle(context, table, drawings, { brought: textsOf(brought), verb })
  const texts = records.map((_, row) => new Map(brought[row] ?? []))
  for (const { row, column, text } of drawings) texts[row]?.set(column.name, text)
  return texts
}

/** The tokens a value may be given; undefined where its token is told from the value, and only checked. */
function shapeOf(table: Table, column: Column, value: unknown, place: Place): TokenShape | undefined {
  try {
    if (column.token?.keeps === 'text') return column.format?.shapeOf(column.type.show(value))
    column.token?.assertValue(column.format, comparedText(column, value))
    return undefined
  } catch (error) {
    if (!(error instanceof TokenFault)) throw error
    throw new VaultError(
      'unprocessable',
      `${place.verb} failed. Column ${column.name} of table ${table.name} ${error.message} (record ${place.index}).`,
      {
        table: table.name,
        column: column.name,
        index: place.index,
      },
    )
  }
}

/** What a drawing must keep clear of, and how an error begins. */
interface Beside {
  /** Texts that other cells of the request bring. */
  readonly brought: readonly string[]
  readonly verb: string
}

function textsOf(brought: TokenTexts): string[] {
  return brought.flatMap((tokens) => [...(tokens?.values() ?? [])])
}

/** Draws until nothing drawn is taken, neither in storage nor in this request. */
async function settle(
  context: StoreContext,
  table: Table,
  drawings: readonly Drawing[],
  { brought, verb }: Beside,
): Promise<void> {
  let pending = drawings
  for (let draw = 0; pending.length > 0; draw++) {
    if (draw === MOST_DRAWS) return walkNeighbours(context, table, pending, { all: drawings, brought, verb })
    const ranks = drawRanks(
      context.barrier.entropy,
      pending.map(({ shape }) => shape.domain),
    )
    for (const [index, drawing] of pending.entries()) drawing.text = drawing.shape.tokenAt(ranks[index] ?? 0n)
    pending = await takenAmong(context, { all: drawings, brought }, pending)
  }
}

/** The drawings whose text another one of the request has too, or somebody holds already. */
async function takenAmong(
  context: StoreContext,
  { all, brought }: { readonly all: readonly Drawing[]; readonly brought: readonly string[] },
  pending: readonly Drawing[],
): Promise<Drawing[]> {
  const taken = await areTaken(
    context,
    pending.map(({ text }) => text),
  )
  const again = new Set(pending.filter((_, index) => taken[index]))
  const seen = new Set(brought)
  for (const drawing of all) {
    if (seen.has(drawing.text)) again.add(drawing)
    seen.add(drawing.text)
  }
  return [...again]
}

/** Which texts stand for something: remembered ones, and those a live value derives. */
async function areTaken(context: StoreContext, texts: readonly string[]): Promise<boolean[]> {
  const homes = await findTokens(context.unit.storage, context.barrier.ring, texts)
  const derived = await resolveDerived(context, texts)
  return texts.map((_, index) => homes[index] !== undefined || derived[index] !== undefined)
}

/** The last resort of a crowded format: the first free token after a drawn one. Throws `unprocessable` when there is none near. */
async function walkNeighbours(
  context: StoreContext,
  table: Table,
  pending: readonly Drawing[],
  { all, brought, verb }: Beside & { readonly all: readonly Drawing[] },
): Promise<void> {
  for (const drawing of pending) {
    const { shape, column } = drawing
    const taken = new Set([...brought, ...all.filter((other) => other !== drawing).map(({ text }) => text)])
    let [rank = 0n] = drawRanks(context.barrier.entropy, [shape.domain])
    let free: string | undefined
    for (let walked = 0; free === undefined && walked < MOST_NEIGHBOURS; walked += SLICE) {
      const texts = Array.from({ length: SLICE }, (_, step) => shape.tokenAt((rank + BigInt(step)) % shape.domain))
      const areHeld = await areTaken(context, texts)
      free = texts.find((text, index) => areHeld[index] === false && !taken.has(text))
      rank = (rank + BigInt(SLICE)) % shape.domain
    }
    if (free === undefined) {
      throw new VaultError(
        'tokens_exhausted',
        `${verb} failed. The token format of column ${column.name} of table ${table.name} is exhausted. Give it a larger one.`,
        {
          table: table.name,
          column: column.name,
        },
      )
    }
    drawing.text = free
  }
}
