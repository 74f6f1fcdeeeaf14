/** The slow work of a vault, as another vault on the same storage lists it. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { FileScanner } from '../../../src/core/ports/blobs.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { Timer } from '../../../src/core/ports/time.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { openFileVault, pngOf } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const COUNT = 60
const BEGIN = Date.UTC(2026, 0, 31)
const LATER = 61 * 60_000

function open(storage: StorageHandle, time: { ms: number }, timer: Timer = SYSTEM_PORTS.timer) {
  return openVault({
    ...SYSTEM_PORTS,
    id: 'v1',
    schema: defineSchema({ things: { name: column.string(), code: column.string({ token: 'transient' }) } }),
    storage,
    keys: localKeys({ key: TEST_SECRET }),
    clock: { now: () => BigInt(time.ms) * 1_000_000n },
    timer,
    process: 'a:1',
  })
}

type Jobs = Awaited<ReturnType<Awaited<ReturnType<typeof open>>['maintenance']>>

/** Slow work of each kind, and what is listed of it after its first slice. */
const WORK = {
  sweep: { done: COUNT },
  verifyRecords: { table: 'things', done: 4, total: COUNT },
  verifyAudit: { done: 3, total: 3 },
} as const

onEachStorage('slow work', (engine) => {
  it.each(Object.keys(WORK) as (keyof typeof WORK)[])(
    'of %s is listed by another vault once it takes a second, and not after its end',
    async (job) => {
      const time = { ms: BEGIN }
      const place = engine.fresh()
      const other = await open(place.open(), time)
      const seen: Jobs[] = []
      // The other vault looks while this one waits for its pace.
      const looking: Timer = {
        after(_, callback) {
          void other.maintenance().then((jobs) => {
            seen.push(jobs)
            callback()
          })
          return () => {}
        },
      }
      const vault = await open(place.open(), time, looking)
      for (let inserts = 0; inserts < 3; inserts++)
        await vault.as(OWNER).insert(
          'things',
          Array.from({ length: COUNT / 3 }, () => ({ fields: { name: 'n', code: 'c' } })),
        )
      time.ms += LATER
      await vault[job]({
        pace: 0.1,
        onProgress() {
          time.ms += 1000
        },
      })
      const startedAt = BEGIN + LATER
      const first = { job, ...WORK[job], startedAt, renewedAt: startedAt + 1000, process: 'a:1', isOverdue: false }
      expect(seen[0]).toEqual([first])
      expect(seen.every((jobs) => jobs.length === 1)).toBe(true)
      expect(await other.maintenance()).toEqual([])
    },
  )

  it('that waits for its pace is ended by closing the vault, which does not wait for it', async () => {
    const time = { ms: BEGIN }
    const vault = await open(engine.fresh().open(), time)
    await vault.as(OWNER).insert('things', [{ fields: { name: 'n', code: 'c' } }])
    const slice = Promise.withResolvers<void>()
    const verifying = vault.verifyRecords({ pace: 1e-6, onProgress: () => slice.resolve() })
    await slice.promise
    const [ended] = await Promise.allSettled([verifying, vault.close()])
    expect(ended).toMatchObject({
      reason: { code: 'cancelled', message: 'Verify failed. The vault was closed. Call it again on an open one.' },
    })
  })

  it('that takes less is never listed', async () => {
    const time = { ms: BEGIN }
    const place = engine.fresh()
    const [vault, other] = [await open(place.open(), time), await open(place.open(), time)]
    await vault.as(OWNER).insert('things', [{ fields: { name: 'n', code: 'c' } }])
    time.ms += LATER
    const seen: Jobs[] = []
    const onProgress = async (): Promise<void> => {
      time.ms += 100
      seen.push(await other.maintenance())
    }
    expect(await vault.sweep({ onProgress })).toMatchObject({ transients: 1, files: 0, credentials: 0 })
    expect(seen).toEqual([[], [], []])
  })

  it('of scans in the background is listed while the content of a long file is read', async () => {
    const storage = engine.fresh().open()
    const { session, vault, clock, blobs } = await openFileVault(storage)
    await session.uploadFile({ table: 'people', column: 'photo', file: pngOf(200_000) })
    const seen: Jobs[] = []
    const scanner: FileScanner = {
      async scan({ content }) {
        for await (const _ of content) {
          clock.ms += 1000
          seen.push(await vault.maintenance())
        }
        return 'clean'
      },
    }
    const scanning = await openFileVault(storage, { scanner, clock, blobs })
    await scanning.vault.scanFiles()
    expect(seen[0]).toEqual([])
    expect(seen.at(-1)).toMatchObject([{ job: 'scanFiles', done: 0, isOverdue: false }])
    expect(await vault.maintenance()).toEqual([])
  })
})
