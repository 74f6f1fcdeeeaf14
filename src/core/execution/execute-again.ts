/** Runs an operation again when it met a catalog or a root key that another process changed. */
import { CATALOG_MOVED, OUTDATED, UNKNOWN_KEY } from '../barrier/barrier.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import { mayBeStored } from '../errors.ts'
import type { RecordedUnit } from '../unit-of-work/unit-of-work.ts'
import { attempt } from '../util/attempt.ts'
import type { OperationContext } from './context.ts'

/** An operation. One that has stored something is not in question: that was compared with the catalog. */
interface Attempted {
  readonly catalog: CatalogFence
  readonly unit: Pick<RecordedUnit, 'isStored' | 'storage'>
}

/** Throws CATALOG_MOVED if another process changed the catalog. */
export async function assertCurrent({ catalog, unit }: Attempted, generation: number): Promise<void> {
  if (!(await catalog.isCurrent(unit.storage, generation))) throw CATALOG_MOVED
}

/** Returns CATALOG_MOVED in place of an error that it can be the reason for, such as a record that was not found. */
export async function movedOr(attempted: Attempted, error: unknown, generation: number): Promise<unknown> {
  if (OUTDATED.is(error) || mayBeStored(error) || attempted.unit.isStored || attempted.catalog.isCertain(generation)) return error
  return assertCurrent(attempted, generation).then(
    () => error,
    // The storage may be what failed.
    (moved: unknown) => (moved === CATALOG_MOVED ? moved : error),
  )
}

/**
 * Runs work again that failed with `first`, after the catalog was read again, if another process changed it: nothing was stored then.
 * Otherwise throws `first`. A key that is unknown after that, too, is not the catalog's: its bodies fail authentication.
 */
export async function executeAgain<T>(
  context: OperationContext & Attempted,
  first: unknown,
  work: (context: OperationContext) => Promise<T>,
): Promise<T> {
  if (!OUTDATED.is(first)) throw first
  let current = context
  let failure = first
  return attempt([OUTDATED], async () => {
    await context.catalog.reload(context.unit.storage)
    const { layout, access } = context.current()
    if (layout !== current.layout) current = { ...current, layout, access }
    if (failure === UNKNOWN_KEY) {
      const { entropy, vault, ring, subjectKeys, destroyed = [], reportMismatch } = context.barrier
      current = { ...current, barrier: { entropy, vault, ring, subjectKeys, destroyed, reportMismatch } }
    }
    const { generation } = context.catalog.keys
    try {
      const result = await work(current)
      if (!context.unit.isStored && !context.catalog.isCertain(generation)) await assertCurrent(context, generation)
      return result
    } catch (error) {
      failure = await movedOr(context, error, generation)
      throw failure
    }
  })
}
