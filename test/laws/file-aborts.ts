/** Law: an upload that is aborted, at whatever byte, leaves nothing behind. */
import { VaultError } from '../../src/index.ts'
import { abortedAt, randomContent } from '../support/files/content-sources.ts'
import { type FilePlace, onFreshFiles, TURNS, turnOf } from '../support/files/file-places.ts'
import { type ArchiveSession, type ArchiveVault, joined, openArchive } from '../support/files/open-archive.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { openPlaces } from '../support/storages/places.ts'
import type { Law } from './law.ts'

/** Every byte of a small content, and those around the ends of the first piece and of the pieces that are sealed together. */
const ENDS: readonly number[] = [
  ...Array.from({ length: 301 }, (_, end) => end),
  ...[65_536, 262_144].flatMap((border) => [-2, -1, 0, 1, 2].map((step) => border + step)),
]
/** Aborted uploads of a case: the cases of one turn are all ends. */
const ABORTS = Math.ceil(ENDS.length / TURNS)
/** Length of the contents that end before they are complete. */
const LENGTH = 300_000

export const fileAborts: Law = {
  name: 'file-aborts',
  statement: 'An upload that is aborted at any byte leaves no row, blob, record or open descriptor, and the file before it whole',
  unit: 'aborted uploads',
  figures: { test: ENDS.length, soak: 10_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      check: ({ number, random }) => {
        // Each next turn of engines and stores gets other ends.
        const share = (number + Math.floor(number / TURNS)) % TURNS
        const ends = ENDS.slice(share * ABORTS, (share + 1) * ABORTS)
        return onFreshFiles(turnOf(places, number), (place) => abortUploads(place, random, ends))
      },
      close: () => places.close(),
    }
  },
}

/** What is stored, and what is open. */
interface Contents {
  readonly rows: number
  readonly blobs: readonly string[]
  readonly descriptors: number
  readonly records: number
}

/** Aborts uploads in a vault of its own. Returns how many. Throws if one leaves something behind. */
export async function abortUploads(place: FilePlace, random: SeededRandom, ends: readonly number[]): Promise<number> {
  const storage = place.storage()
  const vault = await openArchive({ storage, blobs: place.blobs.open(storage) })
  try {
    const session = vault.as(ARCHIVIST)
    const { id } = await session.uploadFile({ table: 'papers', column: 'front', file: BEFORE })
    const before = await contentsOf(place, session)
    const bytes = randomContent(random, LENGTH)
    for (const end of ends) {
      await abortOne({ vault, session, id }, random, { bytes, end })
      assertSame(before, await contentsOf(place, session), `an upload that was aborted after ${end} bytes`)
    }
    const kept = await joined((await session.openFile('papers', id, 'front')).stream)
    if (!kept.equals(BEFORE)) throw new Error('The file that was to be replaced changed.')
    return ends.length
  } finally {
    await vault.close()
  }
}

const ARCHIVIST = { actor: 'archivist@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] } as const
const BEFORE = Buffer.from('the file before')

interface Aborting {
  readonly vault: ArchiveVault
  readonly session: ArchiveSession
  readonly id: string
}

/** Uploads to a new record, over a file, beside a file, or by a reference that the vault issued, and aborts. */
async function abortOne(
  { vault, session, id }: Aborting,
  random: SeededRandom,
  { bytes, end }: { readonly bytes: Uint8Array; readonly end: number },
): Promise<void> {
  const file = abortedAt(bytes, end, random.pick([1, 13, 100_000].filter((chunk) => end / chunk < 1000)))
  const column = random.pick(['front', 'back'] as const)
  const upload = random.pick([
    () => session.uploadFile({ table: 'papers', column, file }),
    () => session.uploadFile({ table: 'papers', column, id, file }),
    async () => {
      const { tickets } = await session.uploadTicket({ table: 'papers', id, columns: [column] })
      return vault.uploadWithTicket(tickets[column].ticket, { file })
    },
  ])
  const error = await upload().then(
    () => new Error('an upload without its end was stored'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof VaultError) || error.code !== 'cancelled') throw error
}

async function contentsOf({ fileRows, blobs }: FilePlace, session: ArchiveSession): Promise<Contents> {
  const { records } = await session.get('papers', { limit: 1000 })
  return {
    rows: (await fileRows()).length,
    blobs: [...(await blobs.keys())].sort(),
    descriptors: blobs.descriptors(),
    records: records.length,
  }
}

function assertSame(before: Contents, after: Contents, cause: string): void {
  if (JSON.stringify(before) !== JSON.stringify(after))
    throw new Error(`${cause} left something behind: ${JSON.stringify({ before, after })}`)
}
