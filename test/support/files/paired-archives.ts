/** Two vaults whose files differ in content, name, length and type, and a caller who may not see that. */
import { inspect } from 'node:util'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import { type Caller, isVaultError, type PolicyFor, type Tracing } from '../../../src/index.ts'
import type { Canaries } from '../leaks/canaries.ts'
import { auditOf, dumpOf, naming } from '../leaks/outlets.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { type SharedEntropy, sharedEntropy } from '../random/shared-entropy.ts'
import { OWNER } from '../vaults/test-vault.ts'
import { type Archive, type ArchiveSession, type ArchiveVault, joined, openArchive } from './open-archive.ts'

/** Callers by what they may not see: the content of files, or also their names, or all of it. */
export const POLICY: PolicyFor<Archive> = {
  title: ['ALLOW READ ON papers.title'],
  redacted: ['ALLOW READ ON papers.title', 'ALLOW READ ON papers.front WITH REDACTION = REDACTED'],
  writer: ['ALLOW CREATE, UPDATE ON papers.*'],
  tidier: ['ALLOW DELETE ON papers.*', 'ALLOW READ ON papers.title'],
  none: ['ALLOW READ ON letters.sheet'],
}

/** A vault of a pair, and everything that leaves it. */
export interface ArchiveOfPair {
  readonly vault: ArchiveVault
  readonly caller: ArchiveSession
  readonly entropy: SharedEntropy
  readonly noise: string[]
  /** The audit trail, and all that is stored. */
  atRest(): Promise<string>
}

/** What is broken for negative controls. */
export interface PairOptions {
  /** Replaces the session of the caller. */
  readonly careless?: (caller: ArchiveSession, owner: ArchiveSession) => ArchiveSession
}

/** Records of a vault. */
const RECORDS = 3

/** Opens one vault of a pair with files of its own. Returns it, and the ids of its records, which are those of the other. */
export async function openArchiveOfPair(
  seed: string,
  { canaries, random, role }: { readonly canaries: Canaries; readonly random: SeededRandom; readonly role: string },
  { careless = (caller) => caller }: PairOptions = {},
): Promise<{ readonly archive: ArchiveOfPair; readonly ids: readonly string[] }> {
  const names = new Set<string>()
  const storage = naming(memoryStorage(), names)
  const noise: string[] = []
  const entropy = sharedEntropy(seed)
  const line = (fields: object, message: string) => void noise.push(`${inspect(fields, { depth: 12 })} ${message}`)
  const vault = await openArchive({
    ...{ storage, blobs: databaseBlobs(storage), entropy, policy: POLICY },
    ...{ log: { info: line, warn: line, error: line }, tracing: recording(noise) },
  })
  const owner = vault.as(OWNER)
  const ids: string[] = []
  for (let count = 0; count < RECORDS; count++) {
    entropy.begin(count)
    const { records } = await owner.insert('papers', [{ fields: { title: 'a paper' } }])
    for (const { id } of records) {
      ids.push(id)
      const file = Buffer.from(`${canaries.make('STRING').value}${'. '.repeat(random.below(50_000))}`)
      const fileName = `${canaries.make('STRING').value}.${random.pick(['txt', 'html', 'png'])}`
      await owner.uploadFile({ table: 'papers', column: 'front', id, file, fileName })
    }
  }
  const reader: Caller = { actor: 'reader@acme.example', actorType: 'USER', roles: [role] }
  const atRest = async () => [await auditOf(vault), await dumpOf(storage, names)].join('\n')
  return { archive: { vault, caller: careless(vault.as(reader), owner), entropy, noise, atRest }, ids }
}

function recording(noise: string[]): Tracing {
  return {
    startActiveSpan(name, attributes, work) {
      noise.push(name, inspect(attributes))
      return work({ traceId: undefined, end: (more, failure) => void noise.push(inspect(more), String(failure)) })
    },
  }
}

/** A request of the caller. */
export type ArchiveRequest = (archive: ArchiveOfPair) => Promise<unknown>

/** Draws a request on one of these records. */
export function randomArchiveRequest(
  random: SeededRandom,
  ids: readonly string[],
): readonly [name: string, send: ArchiveRequest] {
  const id = random.pick(ids)
  const range = random.pick([{}, { range: { start: random.below(10) } }, { range: { start: 90_000 } }])
  const shown = { downloadTickets: random.chance(0.5), returnFileMetadata: random.chance(0.5) }
  const selected = random.pick(['front', '*', 'title'])
  const file = () => Buffer.from('written by the caller')
  const requests: Readonly<Record<string, ArchiveRequest>> = {
    get: ({ caller }) => caller.get('papers', shown),
    'get of a column': ({ caller }) => caller.get('papers', { ...shown, fields: ['front'] }),
    getOne: ({ caller }) => caller.getOne('papers', id, shown),
    openFile: async ({ caller }) => opened(await caller.openFile('papers', id, 'front', range)),
    fileStatus: ({ caller }) => caller.fileStatus('papers', id, 'front'),
    fileStatuses: ({ caller }) => caller.fileStatuses([{ table: 'papers', id, fileColumns: ['front', 'back'] }]),
    downloadTicket: ({ caller }) => caller.downloadTicket('papers', id, 'front'),
    uploadTicket: ({ caller }) => caller.uploadTicket({ table: 'papers', id, columns: ['front'] }),
    uploadFile: ({ caller }) =>
      caller.uploadFile({ table: 'papers', id, column: 'front', file: file(), returnFileMetadata: true }),
    'upload beside it': ({ caller }) => caller.uploadFile({ table: 'papers', id, column: 'back', file: file() }),
    update: ({ caller }) => caller.updateOne('papers', id, { title: 'another' }),
    query: ({ caller }) => caller.query(`SELECT ${selected} FROM papers`),
    'query by name': ({ caller }) => caller.query("SELECT title FROM papers WHERE front > 'm' ORDER BY front"),
    deleteOne: ({ caller }) => caller.deleteOne('papers', id),
  }
  return random.pick(Object.entries(requests))
}

async function opened({ stream, ...rest }: { readonly stream: AsyncIterable<Uint8Array> }): Promise<unknown> {
  return { ...rest, content: (await joined(stream)).toString('latin1') }
}

/** Sends a request. Returns what the caller gets as text; the random text of a reference is left out. */
export async function outcomeOf(archive: ArchiveOfPair, request: ArchiveRequest): Promise<string> {
  try {
    return JSON.stringify(await request(archive), (key, value: unknown) => (key === 'ticket' ? 'a reference' : value))
  } catch (error) {
    if (!isVaultError(error)) throw error
    const { code, message, details, httpStatus } = error
    archive.noise.push(inspect(error, { depth: 12, showHidden: true }))
    return JSON.stringify({ code, message, details, httpStatus })
  }
}
