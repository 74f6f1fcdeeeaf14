/** What writers, readers and a rotating process do during rotations of keys. Each writer changes records of its own, so that its model of them is exact. */
import { setTimeout as pause } from 'node:timers/promises'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { isVaultError } from '../../../src/index.ts'
import { randomFor, type SeededRandom } from '../random/seeded-random.ts'
import type { RotatingVault } from '../vaults/rotating-vault.ts'
import { OWNER } from '../vaults/test-vault.ts'

/** A record as its writer stored it last. */
export interface Kept {
  readonly email: string
  readonly name: string
  readonly city: string
  /** Of the email, which no change replaces: the token of another value ends with it. */
  readonly token: string
}

/** What the writers and readers of a process did. */
export interface WorkResult {
  /** By id. */
  readonly kept: Record<string, Kept>
  readonly deleted: string[]
  readonly failures: string[]
  writes: number
  reads: number
  longestMs: number
}

/** The writers and readers of a process. */
export interface Work {
  readonly name: string
  readonly seed: string
  readonly writers: number
  readonly readers: number
}

/** Between two calls of a writer or reader: those of sixteen leave no time in which nothing happens, and the rotation is not the last to get the CPU. */
const THINK_MS = 10

/** The email that a record has before the work begins: no writer can store it again. */
export const TAKEN = 'p0@acme.example'

/** Writes and reads until `isOver`. */
export async function workBeside(vault: RotatingVault, work: Work, isOver: () => boolean): Promise<WorkResult> {
  const session = vault.as(OWNER)
  const result: WorkResult = { kept: {}, deleted: [], failures: [], writes: 0, reads: 0, longestMs: 0 }
  const timed = async (what: string, call: () => Promise<unknown>): Promise<void> => {
    const begun = performance.now()
    try {
      await call()
    } catch (error) {
      result.failures.push(`${what}: ${isVaultError(error) ? `${error.code} ${error.message}` : String(error)}`)
    }
    result.longestMs = Math.max(result.longestMs, performance.now() - begun)
  }
  const insert = async (own: string[], email: string, name: string): Promise<void> => {
    const given = [{ fields: { email, name, city: 'Bonn', pin: name } }]
    const { records } = await session.insert('people', given, { tokenization: true })
    for (const { id, tokens } of records) {
      result.kept[id] = { email, name, city: 'Bonn', token: tokens.email ?? '' }
      own.push(id)
    }
  }
  const insertTaken = async (): Promise<void> => {
    const thrown = await session.insertOne('people', { email: TAKEN }).catch((error: unknown) => error)
    if (!isVaultError(thrown, 'conflict')) throw new Error(`a unique value was not refused: ${String(thrown)}`)
  }
  const changes = {
    name: (id: string, _: Kept, name: string) => session.updateOne('people', id, { name }),
    city: (id: string, _: Kept, city: string) => session.updateOne('people', id, { city }),
    upsert: (_: string, { email }: Kept, name: string) =>
      session.insert('people', [{ fields: { email, name } }], { upsert: 'email' }),
  }
  const remove = async (own: string[], id: string): Promise<void> => {
    // First: a reader may find it gone before the call returns.
    delete result.kept[id]
    await session.delete('people', [id])
    own.splice(own.indexOf(id), 1)
    result.deleted.push(id)
  }
  const write = async (key: string, own: string[], random: SeededRandom, n: number): Promise<void> => {
    const id = own.length === 0 ? '' : random.pick(own)
    const was = result.kept[id]
    const name = `${key} ${n}`
    const kind = was === undefined ? 'insert' : random.pick(['insert', 'name', 'city', 'upsert', 'delete', 'taken'] as const)
    await timed(kind, async () => {
      if (was === undefined || kind === 'insert') return insert(own, `${key}.${n}@acme.example`, name)
      if (kind === 'taken') return insertTaken()
      const { fields } = await session.getOne('people', id)
      if (fields.name !== was.name || fields.city !== was.city) throw new Error('a record is not as its writer stored it last')
      if (kind === 'delete') return remove(own, id)
      await changes[kind](id, was, name)
      result.kept[id] = { ...was, ...(kind === 'city' ? { city: name } : { name }) }
    })
    result.writes++
  }
  const read = async (random: SeededRandom): Promise<void> => {
    const ids = Object.keys(result.kept)
    if (ids.length === 0) return
    const id = random.pick(ids)
    const { token = '', email = '' } = result.kept[id] ?? {}
    const key = email.split('.')[0] ?? ''
    // Its writer can have deleted it meanwhile.
    const unlessDeleted = (error: unknown): undefined => {
      if (result.kept[id] !== undefined || !isVaultError(error, 'not_found')) throw error
    }
    await timed('read', async () => {
      const { value } = (await session.detokenize([{ token }]).catch(unlessDeleted))?.records[0] ?? { value: email }
      if (value !== email) throw new Error('a token shows the value of another')
      const { name } = (await session.getOne('people', id).catch(unlessDeleted))?.fields ?? { name: `${key} ` }
      if (!String(name).startsWith(`${key} `)) throw new Error('a record shows the value of another')
    })
    result.reads++
  }
  const until = async (seed: string, step: (random: SeededRandom, n: number) => Promise<void>): Promise<void> => {
    const random = randomFor(`${work.seed} ${work.name} ${seed}`)
    for (let n = 0; !isOver(); n++) {
      await step(random, n)
      await pause(THINK_MS)
    }
  }
  await Promise.all([
    ...Array.from({ length: work.writers }, (_, n) => {
      const own: string[] = []
      return until(`w${n}`, (random, step) => write(`${work.name}${n}`, own, random, step))
    }),
    ...Array.from({ length: work.readers }, (_, n) => until(`r${n}`, read)),
  ])
  return result
}

/** Rotates, and destroys the key before, so often. Reports each end. */
export async function rotateOften(vault: RotatingVault, times: number, ended: (version: number) => void): Promise<void> {
  for (let n = 0; n < times; n++) {
    const { version, complete } = await vault.rotateKeys()
    if (!complete) throw new Error('a rotation is not complete')
    for (const key of (await vault.keys()).keys) if (key.state === 'retired') await vault.destroyKey(key.version)
    ended(version)
  }
}

/** A storage whose changes of records compare no versions, and come late. */
export function blindStorage(storage: StorageHandle): StorageHandle {
  const wrap = <S extends Pick<StorageHandle, 'update' | 'get' | 'transaction'>>(inner: S, waits: boolean): S => ({
    ...inner,
    async update(table, patches) {
      if (table !== 'records_1_people') return inner.update(table, patches)
      const ids = patches.map(({ id }) => id)
      const rows = await inner.get(table, ids)
      return inner.update(
        table,
        patches.map((patch, n) => ({ ...patch, version: rows[n]?.version ?? patch.version })),
      )
    },
    async transaction(work, options) {
      if (waits) await pause(30)
      return inner.transaction((within) => work(wrap(within, false)), options)
    },
  })
  return wrap(storage, true)
}
