/** Measures a long content that is written and read as a stream, against the same bytes in a plain file or table, and the memory that it takes. */
import type { PlainBlob } from '../baselines/plain-blobs.ts'
import { MIB, sealedContent } from '../fixtures/sealed-content.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import type { RunConfig } from '../runner/run-config.ts'
import { assertSame } from './check-reads.ts'
import { compareSizes } from './compare.ts'
import { measurePair } from './harness.ts'

/** A place that holds one content at a time. */
export interface Contents {
  /** What a benchmark calls writing and reading it. */
  readonly verbs: readonly [write: string, read: string]
  remove(): Promise<void>
  write(content: AsyncIterable<Uint8Array>): Promise<void>
  read(size: number): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** A place, and what it is compared with. */
export interface Compared {
  readonly storage: StorageName
  /** The noun of the benchmark: `a blob`, `a file`. */
  readonly what: string
  readonly contents: Contents
  readonly plain: PlainBlob
  readonly baseline: string
  /** Lowest share of the baseline's throughput that meets the target. Default: no target. */
  readonly target?: number
}

/** Returns the figures of writing, of reading, and of resident memory. */
export async function measureContents(
  { scale }: RunConfig,
  { storage, what, contents, plain, baseline, target }: Compared,
): Promise<Entry[]> {
  const { blobMebibytes: mebibytes, slowTiming } = scale
  const size = mebibytes * MIB
  const write = {
    ours: {
      name: 'strongroom',
      prepare: contents.remove,
      run: () => contents.write(sealedContent(size)).then(() => mebibytes),
    },
    baseline: { name: baseline, prepare: plain.remove, run: () => plain.write(sealedContent(size)).then(() => mebibytes) },
  }
  const subject = (verb: string) => ({ benchmark: `${verb} ${what} of ${mebibytes} MiB`, storage, rows: 0 })
  const targeted = (verb: string) => ({ ...subject(verb), ...(target === undefined ? {} : { target }) })
  const written = await measurePair(targeted(contents.verbs[0]), write, slowTiming)
  assertSame(await lengthOf(contents, size), await plain.read())
  const read = {
    ours: { name: 'strongroom', run: () => lengthOf(contents, size).then(() => mebibytes) },
    baseline: { name: baseline, run: () => plain.read().then(() => mebibytes) },
  }
  const wasRead = await measurePair(targeted(contents.verbs[1]), read, slowTiming)
  const ours = await memoryOf(async () => {
    await write.ours.prepare()
    await write.ours.run()
    await read.ours.run()
  })
  const theirs = await memoryOf(async () => {
    await write.baseline.prepare()
    await write.baseline.run()
    await read.baseline.run()
  })
  await plain.close()
  await contents.close()
  const sizes = { figure: ours, baseline, baselineFigure: theirs, unit: 'MiB' } as const
  return [{ ...written, unit: 'MiB/s' }, { ...wasRead, unit: 'MiB/s' }, compareSizes(subject('resident memory added by'), sizes)]
}

async function lengthOf(contents: Contents, size: number): Promise<number> {
  let bytes = 0
  for await (const chunk of contents.read(size)) bytes += chunk.length
  return bytes
}

/** The highest resident memory while work runs, above that at its beginning, in MiB, and 1 at least. */
export async function memoryOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage.rss()
  let highest = before
  const look = () => {
    highest = Math.max(highest, process.memoryUsage.rss())
  }
  const timer = setInterval(look, 5)
  await work()
  clearInterval(timer)
  look()
  return Math.max(1, (highest - before) / MIB)
}
