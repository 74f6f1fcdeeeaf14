/** People of a table whose stored bytes a change of the schema rewrites: the schemas before and after, writers of both, and what must be stored. */
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { SchemaMoves } from '../../../src/core/schema-change/schema-moves.ts'
import { column, defineSchema, isVaultError, type Schema, type Vault } from '../../../src/index.ts'
import { FAST_PORTS, openFast } from '../vaults/fast-ports.ts'
import { OWNER } from '../vaults/test-vault.ts'

export const PLAIN = { redaction: 'PLAIN_TEXT' } as const
export const KEY = { key: column.string({ ...PLAIN, encrypted: false, unique: true }) }

export const OLD = {
  people: {
    ...KEY,
    age: column.integer(PLAIN),
    score: column.integer({ ...PLAIN, encrypted: false }),
    born: column.date({ ...PLAIN, searchable: true }),
    flag: column.boolean(PLAIN),
    secret: column.string({ ...PLAIN, encrypted: false, index: true }),
    open: column.string({ ...PLAIN, unique: true }),
    card: column.string({ ...PLAIN, token: { kind: 'formatPreserving', format: 'card' } }),
    mail: column.string({ ...PLAIN, token: 'deterministic' }),
    nick: column.string({ ...PLAIN, token: 'random' }),
    count: column.string(PLAIN),
    fax: column.string({ ...PLAIN, unique: true, token: 'random' }),
    pin: column.string({ ...PLAIN, token: 'transient' }),
    note: column.json(PLAIN),
  },
  notes: { ...KEY, text: column.string({ ...PLAIN, token: { kind: 'formatPreserving', format: 'card' } }) },
}

export const NEW = {
  people: {
    ...KEY,
    age: column.string(PLAIN),
    score: column.float({ ...PLAIN, encrypted: false, index: true }),
    born: column.datetime({ ...PLAIN, searchable: true }),
    flag: column.string({ ...PLAIN, encrypted: false }),
    secret: column.string({ ...PLAIN, searchable: true }),
    open: column.string({ ...PLAIN, encrypted: false, unique: true }),
    card: column.string({ ...PLAIN, token: 'random' }),
    mail: column.string({ ...PLAIN, token: 'deterministic', columnGroup: 'mail', normalize: ['lowercase'] }),
    nick: column.string({ ...PLAIN, token: 'deterministic' }),
    count: column.integer({ ...PLAIN, encrypted: false }),
    note: column.json(PLAIN),
  },
}
/** The same with what is erased later. */
const { fax, pin } = OLD.people
export const MADE_ANEW = { people: { ...NEW.people, fax, pin }, notes: OLD.notes }
export const CONVERT: SchemaMoves = { convert: { 'people.count': 'toInteger' } }
export const ERASE: SchemaMoves = { drop: { 'people.fax': 'erase', 'people.pin': 'erase', notes: 'erase' } }

let ahead = 0n

/** Sets the clock of all processes forward: a job whose process was killed is taken over after a minute. */
export function goAhead(minutes: bigint): void {
  ahead += minutes * 60_000_000_000n
}

const clock = { ...FAST_PORTS.clock, now: () => FAST_PORTS.clock.now() + ahead }

export type Fields = Record<string, unknown>

/** A vault whose tables the compiler does not know. */
export type AnyVault = Vault<Record<string, Record<string, ReturnType<typeof column.json>>>>

export function schemaOf(tables: object): Schema {
  return defineSchema(tables as never) as never
}

export function open(
  storage: StorageHandle,
  tables: object,
  audit: 'on' | 'off' = 'on',
  ports: typeof FAST_PORTS = FAST_PORTS,
): Promise<AnyVault> {
  return openFast(storage, schemaOf(tables), { ...ports, clock, audit }) as never
}

/** The fields of a person as a process writes them that knows the types before, or those after. */
export function person(n: number, isNew: boolean): Fields {
  const day = `2001-01-${String((n % 28) + 1).padStart(2, '0')}`
  return {
    age: isNew ? String(n) : n,
    score: n * 3,
    born: isNew ? `${day}T00:00:00Z` : day,
    flag: isNew ? String(n % 2 === 0) : n % 2 === 0,
    secret: `secret ${n}`,
    open: `open ${n}`,
    card: `424242424242${String(n % 10_000).padStart(4, '0')}`,
    mail: `P${n}@acme.example`,
    nick: `nick ${n}`,
    count: isNew ? n : String(n),
    note: { n },
  }
}

/** Columns that the change erases. */
export function ending(n: number): Fields {
  return { fax: `fax ${n}`, pin: `pin ${n}` }
}

/** Writers that change records at random until they are stopped, and what must be stored. */
export class Writers {
  readonly model = new Map<string, Fields>()
  #next = 1000
  #isStopped = false
  readonly #running: Promise<void>[] = []

  /** `changes`: types change meanwhile. */
  start(vault: AnyVault, changes = true): void {
    this.#running.push(this.#run(vault, changes))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  async #run(vault: AnyVault, changes: boolean): Promise<void> {
    const session = vault.as(OWNER)
    const mine: { readonly id: string; readonly key: string }[] = []
    let isNew = false
    /** Writes values of the types before until they are refused, and then those of the types after. */
    const write = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work()
      } catch (error) {
        if (isNew || !isVaultError(error, 'unprocessable')) throw error
        isNew = true
        await work()
      }
    }
    while (!this.#isStopped) {
      const n = this.#next++
      const key = `key ${n}`
      await write(async () => {
        const { id } = await session.insertOne('people', { key, ...person(n, isNew) } as never)
        mine.push({ id, key })
        this.model.set(key, { key, ...person(n, changes) })
      })
      const old = mine[Math.floor(Math.random() * mine.length)]
      if (old === undefined) continue
      const m = this.#next++
      const names = Object.keys(person(m, true)).filter(() => Math.random() < 0.4)
      const nulls = names.filter(() => Math.random() < 0.1)
      if (names.length > 0)
        await write(async () => {
          const given = (of: Fields) => Object.fromEntries(names.map((name) => [name, nulls.includes(name) ? null : of[name]]))
          const fields = given(person(m, isNew))
          if (n % 2 === 0) await session.update('people', [{ id: old.id, fields }] as never)
          else await session.insert('people', [{ fields: { key: old.key, ...fields } }] as never, { upsert: 'key' } as never)
          this.model.set(old.key, { ...this.model.get(old.key), ...given(person(m, changes)) })
        })
      const [gone] = n % 7 === 3 ? mine.splice(0, 1) : []
      if (gone === undefined) continue
      await session.delete('people', [gone.id])
      this.model.delete(gone.key)
    }
  }
}
