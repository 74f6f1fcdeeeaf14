/** Four writers of people in a process of their own, which count what they have committed. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import type { StorageHandle } from '../../src/storage-port.ts'

/** Where a vault is that several processes open. It survives JSON. */
export type VaultPlace =
  | { readonly kind: 'sqlite'; readonly filename: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

export function openPlace(place: VaultPlace): StorageHandle {
  return place.kind === 'sqlite'
    ? sqliteStorage({ filename: place.filename })
    : postgresStorage({ connectionString: place.url, schema: place.schema })
}

/** Writers that go on until they are stopped. */
export interface Writers {
  /** Returns the calls that have succeeded. */
  count(): Promise<number>
  /** Throws if a call of a writer failed. */
  stop(): Promise<void>
}

/** Starts the writers. The vault has people in it. Resolves when they write. */
export async function startWriters(place: VaultPlace): Promise<Writers> {
  const child = fork(join(import.meta.dirname, 'writers-process.ts'), [JSON.stringify(place)], { stdio: 'inherit', execArgv: [] })
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`The writers ended with code ${code}.`)))
  })
  const ask = (question: 'count' | 'stop'): Promise<number> => {
    const answer = new Promise<number>((resolve) => child.once('message', (count) => resolve(Number(count))))
    child.send(question)
    return Promise.race([answer, ended])
  }
  await ask('count')
  return {
    count: () => ask('count'),
    async stop() {
      await ask('stop')
      child.disconnect()
      await ended.catch(() => undefined)
    },
  }
}
