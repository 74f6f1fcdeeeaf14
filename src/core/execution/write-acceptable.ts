/** Writes those of many records that are accepted, all of them as one change, and takes out each that is refused. */
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import { valueTaken } from '../barrier/record-errors.ts'
import { isRefusal, type VaultError } from '../errors.ts'
import type { TableAccess } from '../policy/table-access.ts'
import { findTaken as findTakenKeys } from '../records/find-by-keys.ts'
import type { UniqueKey } from '../schema/layout.ts'
import { savepointUnit } from '../unit-of-work/unit-of-work.ts'
import { append, at } from '../util/lists.ts'
import type { OperationContext } from './context.ts'
import { type CheckedRecords, insertAll, upsertAll } from './write-records.ts'

/** A record that can be written, as far as it is known without the storage. `index` is its position in the request. */
export interface Candidate {
  readonly values: Values
  readonly supplied: ReadonlyMap<string, string> | undefined
  readonly index: number
}

/** A record that is refused. */
export interface Refused {
  readonly index: number
  readonly error: VaultError
}

/** How records are written. */
export interface WritingMode {
  readonly access: TableAccess
  /** Of an upsert. */
  readonly key: UniqueKey | undefined
  readonly allowsShownText: boolean
}

/** Records that are taken out one after the other; with more, each record is tried by itself. */
const MAX_TAKEN_OUT = 8

/**
 * Writes candidates as one change of the unit, and adds those that the storage refuses to `refused` before the change ends. Returns false if none was
 * left to write: then the unit was not changed.
 */
export async function writeAcceptable(
  context: OperationContext,
  mode: WritingMode,
  candidates: readonly Candidate[],
  refused: Refused[],
): Promise<boolean> {
  let kept = candidates
  for (let attempt = 0; kept.length > 0; attempt++) {
    if (attempt > MAX_TAKEN_OUT) {
      await writeOneByOne(context, mode, kept, refused)
      return true
    }
    try {
      await write(context, mode, kept)
      return true
    } catch (error) {
      const index = refusedIndex(error)
      if (index === undefined) throw error
      const found = attempt === 0 && mode.key === undefined ? await findTaken(context, mode, kept) : []
      const first = { index: at(kept, index).index, error }
      const out = found.length > 0 ? found : [first]
      append(refused, out)
      const indexes = new Set(out.map((one) => one.index))
      kept = kept.filter((candidate) => !indexes.has(candidate.index))
    }
  }
  return false
}

function write(
  context: OperationContext<Pick<OperationContext['event'], 'setWrittenRows'>>,
  { access, key, allowsShownText }: WritingMode,
  kept: readonly Candidate[],
): Promise<readonly StoredRecord[]> {
  const parsed: CheckedRecords = {
    access,
    values: kept.map(({ values }) => values),
    supplied: kept.map(({ supplied }) => supplied),
    tokenization: false,
    allowsShownText,
    areChecked: key === undefined,
  }
  return key === undefined ? insertAll(context, parsed) : upsertAll(context, { key, areOfBatch: false }, parsed)
}

/** Returns the records with a unique value that another record holds, also an earlier one of these. */
async function findTaken(context: OperationContext, { access }: WritingMode, kept: readonly Candidate[]): Promise<Refused[]> {
  const { table } = access
  const taken = await findTakenKeys(context.unit.storage, context, { table, records: kept.map(({ values }) => values) })
  return kept.flatMap(({ index }, position) => {
    const key = taken[position]
    return key === undefined ? [] : [{ index, error: valueTaken(table, key.names, undefined) }]
  })
}

/** Writes each record in a savepoint of one change. The change can run again. */
async function writeOneByOne(
  context: OperationContext,
  mode: WritingMode,
  kept: readonly Candidate[],
  refused: Refused[],
): Promise<void> {
  const before = refused.length
  await context.unit.change(async (unit) => {
    refused.length = before
    const written: number[] = []
    for (const candidate of kept) {
      let rows: readonly number[] = []
      const event = {
        setWrittenRows: (_: unknown, ids: readonly number[]): void => {
          rows = ids
        },
      }
      try {
        await write({ ...context, unit: savepointUnit(unit.storage), event }, mode, [candidate])
        append(written, rows)
      } catch (error) {
        if (refusedIndex(error) === undefined) throw error
        refused.push({ index: candidate.index, error: error as VaultError })
      }
    }
    context.event.setWrittenRows(mode.access.table, written)
  })
}

/** Returns the position of the record that an error is about; undefined for an error that is about all, or of the storage. */
function refusedIndex(error: unknown): number | undefined {
  return isRefusal(error) && error.code !== 'data_loss' ? error.details[0]?.index : undefined
}
