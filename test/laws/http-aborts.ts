/** Law: HTTP requests whose clients go away, at whatever byte, leave nothing open. */
import type { Server } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { Vault } from '../../src/index.ts'
import { type FilePlace, onFreshFiles, turnOf } from '../support/files/file-places.ts'
import { type ArchiveVault, openArchive } from '../support/files/open-archive.ts'
import { abortOne, RECORDS } from '../support/http/aborted-requests.ts'
import { type ServedVault, type ServeOptions, serveVault } from '../support/http/serve-vault.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { openPlaces } from '../support/storages/places.ts'
import { openDescriptors } from '../support/trials/open-descriptors.ts'
import { OWNER } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** Requests of a case, and how many of them run at a time. */
const REQUESTS = 20
const AT_ONCE = 10
/** Length of the file that is downloaded: more than the buffers of a connection hold. */
const FILE_BYTES = 3_000_000
/** Time after which what is still open is open for good, in milliseconds. */
const PATIENCE_MS = 20_000

export const httpAborts: Law = {
  name: 'http-aborts',
  statement:
    'Requests whose clients go away at any byte leave no open transaction, descriptor or vault in use, no half of a change, and no row or blob of an upload',
  unit: 'aborted requests',
  figures: { test: 180, soak: 10_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      check: ({ number, random }) => onFreshFiles(turnOf(places, number), (place) => abortRequests(place, random)),
      close: () => places.close(),
    }
  },
}

/** Options for negative controls. */
export interface AbortOptions {
  readonly patienceMs?: number
  readonly listener?: ServeOptions['listener']
  /** Work before the requests. */
  before?(vault: ArchiveVault): Promise<unknown> | undefined
  /** Ends what `before` left open: a vault closes only then. */
  after?(): void
}

/** Sends requests to a vault of its own and goes away. Returns how many. Throws if one leaves something behind. */
export async function abortRequests(place: FilePlace, random: SeededRandom, options: AbortOptions = {}): Promise<number> {
  const { patienceMs = PATIENCE_MS, listener } = options
  const storage = place.storage()
  const vault = await openArchive({ storage, blobs: place.blobs.open(storage) })
  // A handler uses a vault by the names of its operations only. It is closed below.
  const hosted = { ...(vault as unknown as Vault), close: async () => {} }
  const served = await serveVault({
    vault: hosted,
    handler: { vaults: () => hosted },
    ...(listener === undefined ? {} : { listener }),
  })
  try {
    const { id } = await vault.as(OWNER).uploadFile({ table: 'papers', column: 'front', file: random.bytes(FILE_BYTES) })
    await options.before?.(vault)
    const check = { vault, place, patienceMs }
    await assertFree(check)
    const before = countDescriptors()
    for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, () => abortOne({ served, id }, random)))
    }
    await eventually(() => countDescriptors() <= before, { patienceMs, otherwise: 'descriptors stayed open' })
    await eventually(async () => (await connections(served.server)) === 0, { patienceMs, otherwise: 'a connection stayed open' })
    await assertFree(check)
    await assertReleased(served, patienceMs)
    return REQUESTS
  } finally {
    options.after?.()
    await served.close()
    await vault.close()
  }
}

interface Check {
  readonly vault: ArchiveVault
  readonly place: FilePlace
  readonly patienceMs: number
}

/** Throws if a part of an upload is stored, a part of an insert, or if a transaction is open, which a deletion would wait for. */
async function assertFree({ vault, place, patienceMs }: Check): Promise<void> {
  await eventually(() => hasWholeFiles(place), { patienceMs, otherwise: 'a part of an upload stayed' })
  const session = vault.as(OWNER)
  await inTime(patienceMs, 'a transaction stayed open', async () => {
    const { records } = await session.query('select count(*) as n from papers')
    const count = Number(records[0]?.fields.n)
    // One is the record of the downloads.
    if (count % RECORDS !== 1) throw new Error(`a part of an insert is stored: there are ${count} records`)
    await session.delete('letters', '*')
  })
}

/** True if each row of a file is that of a record, and has its content. */
async function hasWholeFiles({ fileRows, blobs }: FilePlace): Promise<boolean> {
  const rows = await fileRows()
  const isAttached = rows.every(({ row_id }) => row_id !== null)
  return isAttached && (await blobs.keys()).length === rows.length && blobs.descriptors() === 0
}

/** Throws if a request still uses its vault: then the handler does not close. */
function assertReleased({ handler }: ServedVault, patienceMs: number): Promise<void> {
  return inTime(patienceMs, 'a vault stayed in use', () => handler.close())
}

async function inTime(patienceMs: number, otherwise: string, work: () => Promise<void>): Promise<void> {
  const patience = new AbortController()
  const late = setTimeout(patienceMs, undefined, { signal: patience.signal }).then(() => {
    throw new Error(otherwise)
  })
  late.catch(() => {})
  await Promise.race([work(), late]).finally(() => patience.abort())
}

/** The number of descriptors but for what storages open on demand, and keep: connections to a database, and files of one. */
function countDescriptors(): number {
  return openDescriptors().filter((target) => !/^socket:|vault\.db/.test(target)).length
}

function connections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

async function eventually(
  isReached: () => boolean | Promise<boolean>,
  { patienceMs, otherwise }: { readonly patienceMs: number; readonly otherwise: string },
): Promise<void> {
  for (let waited = 0; !(await isReached()); waited += 10) {
    if (waited >= patienceMs) throw new Error(otherwise)
    await setTimeout(10)
  }
}
