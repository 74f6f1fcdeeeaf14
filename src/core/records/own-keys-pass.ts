/** Seals the records of a table with keys of their subjects, which were stored before these had keys: a slice at a time, beside readers and writers. */
import { keyOf } from '../barrier/reveal.ts'
import { fault } from '../errors.ts'
import type { MaintenancePass } from '../maintenance/job.ts'
import { createPageSize, possibleRows } from '../pace/pace.ts'
import type { NewRow, Patch, Row, Storage } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Table } from '../schema/layout.ts'
import { SUBJECT_KEYS } from '../schema/system-tables.ts'
import { VAULT_KEY } from '../sealing/subject-bodies.ts'
import { makeKeys } from '../subject-keys/key-rows.ts'
import { attempt, type Reason } from '../util/attempt.ts'
import { STALE } from './attempt-change.ts'
import { moveFiles, patchKeys, patchOwners } from './owner-changes.ts'

/** Rows of a slice at most. */
const MAX_ROWS = 500
/** Attempts of a slice while others change its rows. */
const MAX_ATTEMPTS = 100

/**
 * Returns the pass over one table. Tables come after those that they refer to: `ownersOf` has them in order. Records that have the right key are only
 * read, so a pass that ended early runs again. Transient values stay under the key of the vault until they expire.
 */
export function ownKeysPass(
  storage: Storage,
  context: Pick<ReadingContext, 'barrier' | 'layout'>,
  table: Table,
): MaintenancePass {
  const size = createPageSize({ first: 16, max: MAX_ROWS })
  const name = table.physical.name
  let after = 0
  return {
    async slice() {
      const limit = size.next()
      const read = (): Promise<readonly Row[]> => storage.find(name, possibleRows(undefined), { order: 'asc', after, limit })
      const rows = await read()
      size.read(rows)
      const changed = await attempt([stale], async ({ last }) => {
        const current = last === undefined ? rows : await read()
        const { patches, keys } = await patchesOf(storage, context, table, current)
        if (patches.length === 0) return 0
        await storage.transaction(async (inner) => {
          if (keys.length > 0) await inner.insert(SUBJECT_KEYS.name, keys)
          if ((await inner.update(name, patches)).includes(false)) throw STALE
          if (table.files.length > 0)
            await moveFiles(
              inner,
              context,
              table,
              patches.map(({ id }) => id),
            )
        })
        return patches.length
      })
      after = rows.at(-1)?.id ?? after
      return { rows: changed, done: rows.length, table: table.name, isLast: rows.length < limit }
    },
  }
}

const stale: Reason = {
  is: (error) => error === STALE,
  most: MAX_ATTEMPTS,
  lastWord: () => fault('aborted')`Others kept changing the records. Run it again.`,
}

/** Returns the patches of the rows that are not sealed with the key of their subject, and the rows of new keys. */
async function patchesOf(
  storage: Storage,
  context: Pick<ReadingContext, 'barrier' | 'layout'>,
  table: Table,
  rows: readonly Row[],
): Promise<{ readonly patches: readonly Patch[]; readonly keys: readonly NewRow[] }> {
  if (table.owner?.isSubject !== true) return { patches: await patchOwners(storage, context, table, rows), keys: [] }
  const keyless = rows.filter((row) => keyOf(row) === VAULT_KEY)
  if (keyless.length === 0) return { patches: [], keys: [] }
  const made = await makeKeys(
    storage,
    context.barrier,
    table,
    keyless.map(({ id }) => id),
  )
  const patches = patchKeys(context.barrier, { table, rows: keyless, keys: made.ids })
  const moved = new Set(patches.map(({ id }) => id))
  return { patches, keys: made.rows.filter(({ row_id }) => moved.has(Number(row_id))) }
}
