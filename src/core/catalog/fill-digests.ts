/** Fills the digests of a column that was made unique or searchable, page by page, inside the transaction that changes the catalog. */
import { assertVersions } from '../barrier/assert-versions.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent } from '../barrier/digest-values.ts'
import { columnValues } from '../barrier/reveal.ts'
import { isVaultError, VaultError } from '../errors.ts'
import { eachPage } from '../maintenance/each-page.ts'
import type { Row, Storage } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { Column, Table } from '../schema/layout.ts'
import { attempt, type Reason } from '../util/attempt.ts'
import { required } from '../util/lists.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'

/** The column to fill, and the error for records that hold equal values of a unique one. */
export interface DigestsToFill {
  readonly table: Table
  readonly column: Column
  readonly scheduler: Scheduler
  readonly signal?: Signal | undefined
  /** Called after each page with the number of records that got their digest. Its error ends the work. */
  readonly report?: ((records: number) => Promise<void>) | undefined
  equalValues(): Error
}

/** Maximum number of attempts to fill a page, if other processes keep changing its rows. */
const MAX_ATTEMPTS = 1000

/** Thrown to read rows again that changed between reading and writing. */
const CHANGED = new Error('rows changed between reading and writing them')

/** The digest of each of some rows; undefined for a row without a value. */
type DigestsOf = (rows: readonly Row[]) => readonly (Uint8Array | undefined)[]

/** Stores the digest of every row. A row that changes meanwhile is read again. Throws `aborted` after 1,000 attempts, and `equalValues()` if a unique digest repeats. */
export async function fillDigests(
  storage: Storage,
  barrier: Barrier,
  { table, column, scheduler, signal, report, equalValues }: DigestsToFill,
): Promise<void> {
  const name = required(column.digest, 'The digest of a filled column')
  const fill = async (digestsOf: DigestsOf, filled?: DigestsToFill['report']): Promise<void> => {
    for await (const rows of eachPage(storage, table.physical.name, { scheduler })) {
      assertNotAborted(signal)
      try {
        await patchPage(storage, barrier, { table, name, rows, digestsOf, scheduler })
      } catch (error) {
        throw isVaultError(error, 'conflict') ? equalValues() : error
      }
      await filled?.(rows.length)
    }
  }
  // Digests of an earlier attempt may be stale. They are cleared first, so that none of them conflicts with a fresh one.
  await fill((rows) => rows.map(() => undefined))
  await fill((rows) => digestPresent(barrier.ring, column, columnValues(barrier, table, column, rows)), report)
}

/** A page of rows, the column of the digests, and how they are computed. */
interface PageToFill {
  readonly table: Table
  readonly name: string
  readonly rows: readonly Row[]
  readonly digestsOf: DigestsOf
  readonly scheduler: Scheduler
}

/** Patches the rows of one page. Reads a row again if it changed between reading and writing. */
async function patchPage(
  storage: Storage,
  barrier: Barrier,
  { table, name, rows, digestsOf, scheduler }: PageToFill,
): Promise<void> {
  let pending = rows
  const changing: Reason = {
    is: (error) => error === CHANGED,
    most: MAX_ATTEMPTS,
    between: () => scheduler.yield(),
    lastWord: () => new VaultError('aborted', 'Cannot open the vault: other processes keep changing its records. Retry.'),
  }
  await attempt([changing], async () => {
    assertVersions(barrier, table, pending)
    const digests = digestsOf(pending)
    const patches = pending.map(({ id, version }, index) => ({ id, version, set: { [name]: digests[index] ?? null } }))
    const isPatched = await storage.update(table.physical.name, patches)
    const changed = pending.flatMap(({ id }, index) => (isPatched[index] === true ? [] : [id]))
    const again = await storage.get(table.physical.name, changed)
    pending = again.filter((row) => row !== undefined)
    if (pending.length > 0) throw CHANGED
  })
}
