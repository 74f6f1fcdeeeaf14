/** Law: two vaults that differ only in what a caller may not see return equal bytes for the caller's requests. */
import { requestText } from '../support/leaks/known-values.ts'
import { openPairedVaults, type PairedVaultOptions } from '../support/leaks/paired-vaults.ts'
import { randomRequest } from '../support/leaks/requests.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import type { Law } from './law.ts'

/** Requests of a pair. */
const STEPS = 6

export const nonInterference: Law = {
  name: 'non-interference',
  statement: 'Two vaults that differ only in what a caller may not see return equal bytes',
  unit: 'pairs',
  figures: { test: 120, soak: 100_000 },
  weight: 3,
  open: () => ({
    async check({ seed }) {
      const pair = await comparePair(seed)
      if (pair?.difference !== undefined) throw new Error(pair.difference)
      return pair === undefined ? 0 : 1
    },
  }),
}

/** The result of one pair. */
export interface ComparedPair {
  /** Number of cells and rows that differ. */
  readonly differences: number
  /** The first request with different outcomes, and both outcomes; undefined if there is none. */
  readonly difference: string | undefined
}

/** Compares the transcripts of one random pair; undefined if the caller sees so much that nothing can differ. */
export async function comparePair(seed: string, options: PairedVaultOptions = {}): Promise<ComparedPair | undefined> {
  const random = randomFor(seed)
  const vaults = await openPairedVaults(random, seed, options)
  if (vaults === undefined) return undefined
  const { differences } = vaults
  for (let step = 0; step < STEPS; step++) {
    const request = randomRequest(random, vaults.known)
    const [left, right] = await vaults.step(request)
    if (left === right) continue
    const by = `step ${step}, roles ${vaults.caller.roles.join()}: ${requestText(request)}\n  ${left}\n  ${right}`
    return { differences, difference: by }
  }
  return { differences, difference: undefined }
}
