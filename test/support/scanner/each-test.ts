/** A daemon of its own for each test of a file. It must be idle at the end of the test. */
import { afterEach, beforeEach } from 'vitest'
import { type FakeClamd, startFakeClamd } from './fake-clamd.ts'

/** Starts a daemon before each test, and stops it after. Call it at the top of a file. */
export function startForEachTest(use: (clamd: FakeClamd) => void): void {
  let clamd: FakeClamd | undefined
  beforeEach(async () => {
    clamd = await startFakeClamd()
    use(clamd)
  })
  afterEach(async () => {
    await clamd?.idle()
    await clamd?.stop()
  })
}
