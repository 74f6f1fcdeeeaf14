/** A writer of files: random uploads, replacements and deletions in records of its own, each noted in a ledger before and after. */
import { createHash } from 'node:crypto'
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { ArchiveSession } from '../files/open-archive.ts'
import type { SeededRandom } from '../random/seeded-random.ts'

/** The name of the file that a record has after a request; null without one, undefined without the record. */
export type FileState = string | null | undefined

/** What a writer notes before a request. `id` is undefined for an upload to a new record. */
export interface FileAttempt {
  readonly step: 'attempt'
  readonly request: string
  readonly id?: string
  /** The state after it; `gone` for a deleted record. */
  readonly after: string | null
  readonly gone?: boolean
}

/** What a writer notes when the vault has acknowledged a request. */
export interface FileAcknowledged {
  readonly step: 'acknowledged'
  readonly request: string
  readonly id: string
}

export type FileLedgerLine = FileAttempt | FileAcknowledged

/** How a writer works. */
export interface FileWriterOptions {
  /** Unique among all writers of a trial. */
  readonly name: string
  readonly random: SeededRandom
  /** Breaks the promise on purpose, for the negative control: notes a request as acknowledged before the vault acknowledged it. */
  readonly acknowledgeEarly: boolean
  note(line: FileLedgerLine): void
}

/** The content of the file that a request uploads: its name says all of it. */
export function contentOf(request: string): Buffer {
  const [length = 0] = new Uint32Array(createHash('sha256').update(request).digest().buffer.slice(0, 4))
  return createHash('shake256', { outputLength: 1 + (length % 400_000) })
    .update(request)
    .digest()
}

async function* slowly(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < content.length; start += 30_000) {
    yield content.subarray(start, start + 30_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Sends requests until the process is killed. */
export async function writeFiles(session: ArchiveSession, options: FileWriterOptions): Promise<never> {
  const records = new Map<string, string | null>()
  for (let count = 0; ; count++) {
    const request = `${options.name}#${count}`
    const { attempt, send } = planRequest(session, records, { ...options, request })
    options.note({ step: 'attempt', request, ...attempt })
    if (options.acknowledgeEarly && attempt.id !== undefined) options.note({ step: 'acknowledged', request, id: attempt.id })
    const id = await send()
    options.note({ step: 'acknowledged', request, id })
    if (attempt.gone === true) records.delete(id)
    else records.set(id, attempt.after)
  }
}

interface Plan {
  readonly attempt: Pick<FileAttempt, 'id' | 'after' | 'gone'>
  send(): Promise<string>
}

function planRequest(
  session: ArchiveSession,
  records: ReadonlyMap<string, string | null>,
  { random, request }: Pick<FileWriterOptions, 'random'> & { readonly request: string },
): Plan {
  const upload = async (id?: string) => {
    const target = id === undefined ? {} : { id }
    const file = slowly(contentOf(request))
    return (await session.uploadFile({ table: 'papers', column: 'front', file, fileName: request, ...target })).id
  }
  const known = [...records]
  if (known.length < 3) return { attempt: { after: request }, send: () => upload() }
  const [id, name] = random.pick(known)
  const replace: Plan = { attempt: { id, after: request }, send: () => upload(id) }
  const remove: Plan = { attempt: { id, after: null, gone: true }, send: async () => (await session.deleteOne('papers', id)).id }
  const empty: Plan = { attempt: { id, after: null }, send: async () => (await session.deleteFile('papers', id, 'front')).id }
  return random.pick([replace, replace, remove, ...(name === null ? [] : [empty])])
}

/** Appends lines to a file that outlives a killed process. Each is one write. */
export function fileLedger(file: string): FileWriterOptions['note'] {
  const descriptor = openSync(file, 'a')
  return (line) => void writeSync(descriptor, `${JSON.stringify(line)}\n`)
}

/** Returns the lines of a ledger. Ignores an incomplete last line. */
export function readFileLedger(file: string): FileLedgerLine[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line): FileLedgerLine => JSON.parse(line))
}
