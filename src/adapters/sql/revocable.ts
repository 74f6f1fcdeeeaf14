/** Work of a nested transaction whose parent may end first: from then on nothing waits for it, whatever it still does. */
import { endedError } from '../errors/storage-errors.ts'

export interface Revocable {
  /** Makes every `run`, begun or to come, reject with `internal`. Work that has finished keeps its result. */
  revoke(): void
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createRevocable(): Revocable {
  let revoke = (): void => {}
  const revoked = new Promise<never>((_, reject) => {
    revoke = () => reject(endedError())
  })
  // Without a listener the process would end where it was revoked and nothing ran.
  revoked.catch(() => {})
  return {
    revoke: () => revoke(),
    run: (work) => Promise.race([work(), revoked]),
  }
}
