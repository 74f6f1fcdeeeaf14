/** Work that is prepared before its transaction begins, and that runs inside of one if that was too early. Source: docs/inside/commits.md. */
import { type RetryPolicy, retry } from '../util/retry.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/** Runs work in the unit, and again in a change of it for as long as the policy says. `isFirst` is true for the first attempt. */
export function retryInTransaction<T>(
  unit: UnitOfWork,
  policy: RetryPolicy,
  work: (unit: UnitOfWork, isFirst: boolean) => Promise<T>,
): Promise<T> {
  return retry(policy, (attempt) => (attempt === 1 ? work(unit, true) : unit.change((inner) => work(inner, false))))
}
