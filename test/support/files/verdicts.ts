/** A scanner that reads all of a file and gives the result that its content was planned with. It can be out of order, and counts. */
import { createHash } from 'node:crypto'
import type { FileScanner, ScanVerdict } from '../../../src/core/ports/blobs.ts'
import { VaultError } from '../../../src/index.ts'

/** The scanner, and what it did. */
export interface PlannedScanner {
  readonly scanner: FileScanner
  /** Sets the result of a content. */
  plan(content: Uint8Array, verdict: ScanVerdict): void
  /** Number of results that were returned for a content. */
  resultsOf(content: Uint8Array): number
  /** While true, every scan fails. */
  setBroken(isBroken: boolean): void
}

/** Returns a scanner. A content without a plan is clean. */
export function plannedScanner(): PlannedScanner {
  const plans = new Map<string, ScanVerdict>()
  const results = new Map<string, number>()
  let isBroken = false
  return {
    plan: (content, verdict) => void plans.set(digestOf(content), verdict),
    resultsOf: (content) => results.get(digestOf(content)) ?? 0,
    setBroken(broken) {
      isBroken = broken
    },
    scanner: {
      async scan({ content, signal }) {
        const hash = createHash('sha256')
        for await (const chunk of content) {
          if (signal.aborted) throw new VaultError('cancelled', 'The scan was cancelled.')
          hash.update(chunk)
        }
        if (isBroken) throw new VaultError('unavailable', 'The scanner is out of order.')
        const digest = hash.digest('hex')
        results.set(digest, (results.get(digest) ?? 0) + 1)
        return plans.get(digest) ?? 'clean'
      },
    },
  }
}

function digestOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
