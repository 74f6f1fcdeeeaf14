/** Which processes have the vault open, and which keys each of them knows: who would be surprised by a new one. */
import { newestVersion } from '../catalog/catalog-entries.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import type { Catalog } from '../catalog/open-catalog.ts'
import { isVaultError } from '../errors.ts'
import { storeCurrent } from '../maintenance/store-current.ts'
import { eachPage } from '../pace/pace.ts'
import type { Log } from '../ports/observability.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { OPENINGS } from '../schema/system-tables.ts'
import { openEntry, sealEntry } from '../sealing/envelope.ts'
import { readUtf8, toUtf8 } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { nowMs } from '../util/time.ts'

/** Milliseconds after which a row is forgotten that its process neither changed nor removed. */
const FORGOTTEN_MS = 30 * 24 * 60 * 60_000

/** A process that has the vault open. Times are in milliseconds since 1970. */
export interface Opening {
  /** Host name and process id. */
  readonly process: string
  readonly openedAt: number
  /** The newest root key that it knows. */
  readonly newestKey: number
}

/** The openings of a vault, as one process notes and reads them. */
export interface Openings {
  /** Notes this process, and again when it learns of a key. Never throws: the vault works without. */
  note(): Promise<void>
  list(): Promise<Opening[]>
  /** Removes this process. Never throws. */
  end(): Promise<void>
}

/** The dependencies of openings. */
export interface OpeningPorts {
  readonly storage: StorageHandle
  /** The catalog itself, and what writers know of it. */
  readonly stored: Catalog
  readonly catalog: CatalogFence
  readonly clock: Clock
  readonly process: string
  readonly log: Log | undefined
}

export function createOpenings(ports: OpeningPorts): Openings {
  const { storage, stored, clock, log } = ports
  let openedAt: number | undefined
  const address = (id: number) => ({ ring: stored.barrier.ring, vault: stored.barrier.vault, kind: 'opening', id }) as const
  let noted: number | undefined
  let last = Promise.resolve()
  const quietly = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work).catch((error: unknown) => {
      log?.warn({ code: isVaultError(error) ? error.code : 'internal' }, 'the list of open processes could not be changed')
    })
    return last
  }
  const bodyOf = (id: number): Uint8Array => {
    openedAt ??= nowMs({ clock })
    const opening: Opening = { process: ports.process, openedAt, newestKey: newestVersion({ roots: stored.state.roots }) }
    return sealEntry(address(id), toUtf8(JSON.stringify(opening)))
  }
  return {
    note: () =>
      quietly(async () => {
        const now = nowMs({ clock })
        const known = noted
        if (known !== undefined) {
          await storeCurrent(ports, async (inner) => {
            const [row] = await inner.get(OPENINGS.name, [known])
            if (row === undefined) return
            await inner.update(OPENINGS.name, [{ id: row.id, version: row.version, set: { at: now, body: bodyOf(row.id) } }])
          })
          return
        }
        const filter = { kind: 'compare', column: 'at', operator: '<', value: now - FORGOTTEN_MS } as const
        await storage.delete(OPENINGS.name, { filter })
        const id = at(await storage.reserveIds(OPENINGS.name, 1), 0)
        await storeCurrent(ports, (inner) => inner.insert(OPENINGS.name, [{ id, at: now, body: bodyOf(id) }]))
        noted = id
      }),
    async list() {
      const openings: Opening[] = []
      for await (const rows of eachPage(storage, OPENINGS.name)) {
        for (const { id, body } of rows) {
          const plaintext = body instanceof Uint8Array ? openEntry(address(id), body) : undefined
          // It was authenticated, so it is what `bodyOf` wrote.
          if (plaintext !== undefined) openings.push(JSON.parse(readUtf8(plaintext, 0, plaintext.length)) as Opening)
        }
      }
      return openings
    },
    end: () =>
      quietly(async () => {
        const known = noted
        // A vault can be closed twice, and its storage is closed the second time.
        noted = undefined
        if (known !== undefined) await storage.delete(OPENINGS.name, { ids: [known] })
      }),
  }
}
