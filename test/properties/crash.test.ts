/** Property: after kill -9 in the middle of batches, every acknowledged batch is stored, and no batch is stored in part. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { createVault } from '../../src/index.ts'
import { startPostgres } from '../support/postgres/server.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import type { StorageAddress } from '../support/storages/open-storage.ts'
import { openStorage } from '../support/storages/open-storage.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'
import { BATCH, crashSchema } from './crash-schema.ts'

const KILLS = process.env.SOAK === '1' ? 5000 : 20
const LIMIT = KILLS * 10_000

interface Scene {
  readonly address: StorageAddress
  /** Crashes what else crashes with the process in this round. */
  crash(round: number): Promise<void>
}

/** Kills the inserting process repeatedly and checks after each kill. Returns the number of acknowledged batches. */
async function survive(scene: Scene, directory: string): Promise<number> {
  const ledger = join(directory, 'acknowledged')
  const random = seededRandom(`crash on ${scene.address.engine}`)
  for (let round = 0; round < KILLS; round++) {
    const before = lines(ledger).length
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'crash-child.ts'), JSON.stringify(scene.address), ledger, String(round)],
      { stdio: 'inherit' },
    )
    const gone = once(child, 'exit')
    while (lines(ledger).length === before && child.exitCode === null) await pause(5)
    await pause(random() * 60)
    child.kill('SIGKILL')
    await gone
    await scene.crash(round)
    await look(scene, lines(ledger).slice(before))
  }
  const acknowledged = lines(ledger)
  await look(scene, acknowledged)
  return acknowledged.length
}

/** Asserts that every acknowledged batch is stored and readable, and that every stored batch is complete. */
async function look(scene: Scene, acknowledged: readonly string[]): Promise<void> {
  const storage = openStorage(scene.address)
  try {
    const vault = await createVault({ id: 'crash', schema: crashSchema, storage, keys: localKeys({ key: TEST_SECRET }) })
    const session = vault.as(OWNER)
    for (const line of acknowledged) {
      const [batch, ...ids] = line.split(' ')
      const { records } = await session.get('things', { ids })
      expect(records.map((record) => record.fields.secret)).toEqual(Array.from({ length: BATCH }, (_, i) => `${batch}#${i}`))
    }
    const counts = new Map<string, number>()
    for (let offset = 0; ; offset += 1000) {
      const { records } = await session.get('things', { offset, limit: 1000, fields: ['batch'] })
      for (const { fields } of records) counts.set(String(fields.batch), (counts.get(String(fields.batch)) ?? 0) + 1)
      if (records.length < 1000) break
    }
    expect([...counts].filter(([, count]) => count !== BATCH)).toEqual([])
  } finally {
    await storage.close()
  }
}

function lines(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
}

async function inDirectory(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'strongroom-crash-'))
  try {
    await work(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

it(
  `SQLite, ${KILLS} kills`,
  () =>
    inDirectory(async (directory) => {
      const scene: Scene = {
        address: { engine: 'sqlite', filename: join(directory, 'vault.db') },
        crash: async () => {},
      }
      expect(await survive(scene, directory)).toBeGreaterThanOrEqual(KILLS)
    }),
  LIMIT,
)

it(
  `Postgres, ${KILLS} kills of the client, and with every fourth the server crashes too`,
  () =>
    inDirectory(async (directory) => {
      const server = await startPostgres({ durable: true })
      try {
        const scene: Scene = {
          address: { engine: 'postgres', url: server.url },
          crash: (round) => (round % 4 === 3 ? server.crashAndRestart() : Promise.resolve()),
        }
        expect(await survive(scene, directory)).toBeGreaterThanOrEqual(KILLS)
      } finally {
        await server.stop()
      }
    }),
  LIMIT,
)
