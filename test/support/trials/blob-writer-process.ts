/** A process with several writers of blobs, which work until it is killed. Started by blob-kill-trial.ts. */
import { openSync, writeSync } from 'node:fs'
import { inChunks, sampleBytes } from '../../../src/conformance/blobs/sample.ts'
import { toHex } from '../../../src/core/util/bytes.ts'
import { type BlobAddress, openBlobs } from '../blobs/open-blobs.ts'
import { randomFor } from '../random/seeded-random.ts'

/** What a process is started with, as JSON in its first argument. */
export interface BlobWriterProcess {
  readonly address: BlobAddress
  readonly ledger: string
  readonly seed: string
  readonly writers: number
  readonly acknowledgeEarly: boolean
}

/** A line of the ledger. The bytes of a blob follow from its size and seed. */
export interface BlobLine {
  readonly step: 'attempt' | 'acknowledged'
  readonly key: string
  readonly size: number
  readonly seed: number
}

const MAX_SMALL = 100_000
const MAX_LARGE = 12_000_000

const { address, ledger, seed, writers, acknowledgeEarly }: BlobWriterProcess = JSON.parse(process.argv[2] ?? '')
const { store } = await openBlobs(address)
const descriptor = openSync(ledger, 'a')
const write = (line: BlobLine) => void writeSync(descriptor, `${JSON.stringify(line)}\n`)

await Promise.all(
  Array.from({ length: writers }, async (_, index) => {
    const random = randomFor(`${seed} ${index}`)
    for (;;) {
      const size = random.below(random.chance(0.3) ? MAX_LARGE : MAX_SMALL)
      const blob = { key: toHex(random.bytes(16)), size, seed: 1 + random.below(1_000_000) }
      write({ step: 'attempt', ...blob })
      if (acknowledgeEarly) write({ step: 'acknowledged', ...blob })
      await store.write(blob.key, inChunks(sampleBytes(size, blob.seed), 65_576))
      if (!acknowledgeEarly) write({ step: 'acknowledged', ...blob })
    }
  }),
)
