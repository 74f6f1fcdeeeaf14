/** In a transaction, a change of a record that others changed after it was read is refused, and the transaction runs again. */
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema, type Session, type Vault, VaultError } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { onEachStorage, postgresEngine } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const schema = defineSchema({
  accounts: {
    owner: column.string({ unique: true, token: 'random', redaction: 'PLAIN_TEXT' }),
    balance: column.integer({ redaction: 'PLAIN_TEXT' }),
    cap: column.integer({ encrypted: false, redaction: 'PLAIN_TEXT' }),
    rate: column.float({ encrypted: false, redaction: 'PLAIN_TEXT' }),
  },
})
type Accounts = (typeof schema)['tables']

function openAccounts(storage: StorageHandle, audit: 'on' | 'off' = 'on'): Promise<Vault<Accounts>> {
  return createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }), audit })
}

/** Inserts an account with a balance of 5, and returns its id and the token of its owner. */
async function insertAccount(session: Session<Accounts>, owner = 'ann'): Promise<{ id: string; token: string }> {
  const fields = { owner, balance: 5, cap: 5, rate: 0.5 }
  const { records } = await session.insert('accounts', [{ fields }], { tokenization: true })
  return { id: records[0]?.id ?? '', token: records[0]?.tokens.owner ?? '' }
}

/** Adds one to the balance. */
async function addOne(session: Session<Accounts>, id: string): Promise<void> {
  const { fields } = await session.getOne('accounts', id, { onLowered: 'throw' })
  await session.updateOne('accounts', id, { balance: Number(fields.balance) + 1 })
}

async function balanceOf(vault: Vault<Accounts>, id: string): Promise<unknown> {
  return (await vault.as(OWNER).getOne('accounts', id)).fields.balance
}

describe.each(['on', 'off'] as const)('with the audit %s', (audit) => {
  onEachStorage('twenty transactions that read a counter and then raise it', (engine) => {
    it('all count, or are aborted', async () => {
      const vault = await openAccounts(engine.fresh().open(), audit)
      const { id } = await insertAccount(vault.as(OWNER))
      const raising = Array.from({ length: 20 }, () => vault.transaction((inside) => addOne(inside.as(OWNER), id)))
      const outcomes = await Promise.allSettled(raising)
      const raised = outcomes.filter(({ status }) => status === 'fulfilled').length
      expect(await balanceOf(vault, id)).toBe(5 + raised)
      for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'aborted' })
      if (engine.name !== 'postgres') expect(raised).toBe(20)
    })

    it('all count, if they are retried often enough', async () => {
      const vault = await openAccounts(engine.fresh().open(), audit)
      const { id } = await insertAccount(vault.as(OWNER))
      await Promise.all(
        Array.from({ length: 20 }, () => vault.transaction((inside) => addOne(inside.as(OWNER), id), { retries: 100 })),
      )
      expect(await balanceOf(vault, id)).toBe(25)
    })
  })
})

type Account = Awaited<ReturnType<typeof insertAccount>>

/** Every kind of read of a record. */
const READS: Readonly<Record<string, (session: Session<Accounts>, account: Account) => Promise<unknown>>> = {
  getOne: (session, { id }) => session.getOne('accounts', id),
  'get by ids': (session, { id }) => session.get('accounts', { ids: [id] }),
  'a page': (session) => session.get('accounts'),
  'a look-up': (session) => session.get('accounts', { where: { owner: 'ann' } }),
  getByTokens: (session, { token }) => session.getByTokens([token]),
  detokenize: (session, { token }) => session.detokenize([{ token }]),
  'a query of rows': (session) => session.query("SELECT balance FROM accounts WHERE owner = 'ann'"),
  'a query of all columns': (session) => session.query('SELECT * FROM accounts'),
  'totals of a sealed column': (session) => session.query('SELECT SUM(balance) FROM accounts'),
  'totals of a plain column': (session) => session.query('SELECT MAX(cap) FROM accounts'),
  'a mean of a plain column': (session) => session.query('SELECT AVG(rate) FROM accounts'),
  'a batch': (session, { id }) => session.batch([{ get: 'accounts', id }]),
}

/** Every kind of change of a record. */
const CHANGES: Readonly<Record<string, (session: Session<Accounts>, account: Account) => Promise<unknown>>> = {
  updateOne: (session, { id }) => session.updateOne('accounts', id, { balance: 6 }),
  update: (session, { id }) => session.update('accounts', [{ id, fields: { balance: 6 } }]),
  updateWhere: (session) => session.updateWhere('accounts', { owner: 'ann' }, { balance: 6 }),
  upsert: (session) => session.insert('accounts', [{ fields: { owner: 'ann', balance: 6 } }], { upsert: 'owner' }),
  batch: (session, { id }) => session.batch([{ update: 'accounts', id, fields: { balance: 6 } }], { continueOnError: true }),
  delete: (session, { id }) => session.delete('accounts', [id]),
  'delete all': (session) => session.delete('accounts', '*'),
  deleteOne: (session, { id }) => session.deleteOne('accounts', id),
  deleteWhere: (session) => session.deleteWhere('accounts', { owner: 'ann' }),
}

describe('on postgres, where others write meanwhile', () => {
  const engine = postgresEngine()

  /** Runs work in a transaction in which another process can write, and returns its outcome and the runs. */
  async function beside(
    work: (session: Session<Accounts>, others: Session<Accounts>, account: Account) => Promise<unknown>,
    retries = 0,
  ): Promise<{ outcome: unknown; runs: number; others: Vault<Accounts>; account: Account }> {
    const place = engine.fresh()
    const vault = await openAccounts(place.open())
    const others = await openAccounts(place.open())
    const account = await insertAccount(others.as(OWNER))
    let runs = 0
    const outcome = await vault
      .transaction(
        (inside) => {
          runs++
          return work(inside.as(OWNER), others.as(OWNER), account)
        },
        { retries },
      )
      .catch((error: unknown) => error)
    return { outcome, runs, others, account }
  }
  const moveIt = (others: Session<Accounts>, { id }: Account) => others.updateOne('accounts', id, { balance: 50 })

  it.each(Object.keys(READS))('an update is aborted after %s', async (name) => {
    const { outcome, others, account } = await beside(async (session, outside, account) => {
      await READS[name]?.(session, account)
      await moveIt(outside, account)
      await CHANGES.update?.(session, account)
    })
    expect(outcome).toMatchObject({ code: 'aborted', details: [{ table: 'accounts' }] })
    expect(await balanceOf(others, account.id)).toBe(50)
  })

  it.each(Object.keys(CHANGES))('%s is aborted after getOne', async (name) => {
    const { outcome, others, account } = await beside(async (session, outside, account) => {
      await session.getOne('accounts', account.id)
      await moveIt(outside, account)
      await CHANGES[name]?.(session, account)
    })
    expect(outcome).toMatchObject({ code: 'aborted' })
    expect(await balanceOf(others, account.id)).toBe(50)
  })

  it.each(Object.keys(CHANGES))('%s of a record that was not read is not aborted', async (name) => {
    const { outcome } = await beside(async (session, outside, account) => {
      await session.query('SELECT COUNT(*) FROM accounts')
      await moveIt(outside, account)
      await CHANGES[name]?.(session, account)
    })
    expect(outcome).toBeUndefined()
  })

  it('the first of two reads counts, and a read after a change of the transaction itself is no older one', async () => {
    const { outcome } = await beside(async (session, outside, account) => {
      await session.getOne('accounts', account.id)
      await moveIt(outside, account)
      await session.getOne('accounts', account.id)
      await CHANGES.update?.(session, account)
    })
    expect(outcome).toMatchObject({ code: 'aborted' })
    const again = await beside(async (session, _, { id }) => {
      for (let round = 0; round < 3; round++) await addOne(session, id)
      await session.batch([
        { get: 'accounts', id },
        { update: 'accounts', id, fields: { balance: 1 } },
        { get: 'accounts', id },
      ])
      await addOne(session, id)
    })
    expect([again.outcome, await balanceOf(again.others, again.account.id)]).toEqual([undefined, 2])
  })

  it('of a record that one query reads twice, as a join of a table with itself, the first read counts', async () => {
    const place = engine.fresh()
    const { storage, interpose } = interposedStorage(place.open())
    const vault = await openAccounts(storage)
    const others = (await openAccounts(place.open())).as(OWNER)
    const account = await insertAccount(others)
    let finds = 0
    const isMoved = interpose({
      isDue: ({ method, table = '' }) => method === 'find' && table.startsWith('records_') && ++finds === 2,
      work: async () => void (await moveIt(others, account)),
    })
    const raising = vault.transaction(
      async (inside) => {
        const session = inside.as(OWNER)
        const { records } = await session.query('SELECT a.balance FROM accounts a JOIN accounts b ON a.owner = b.owner')
        expect(records.map(({ fields }) => fields.balance)).toEqual([5])
        await CHANGES.update?.(session, account)
      },
      { retries: 0 },
    )
    await expect(raising).rejects.toMatchObject({ code: 'aborted' })
    expect([isMoved(), await balanceOf(vault, account.id)]).toEqual([true, 50])
  })

  it('operations of one transaction side by side are no other writers', async () => {
    const { outcome, others, account } = await beside(async (session, _, { id }) => {
      for (let round = 1; round <= 8; round++) {
        await Promise.all([
          session.getOne('accounts', id),
          session.updateOne('accounts', id, { balance: round }),
          session.query('SELECT * FROM accounts'),
        ])
      }
      await addOne(session, id)
    })
    expect([outcome, await balanceOf(others, account.id)]).toEqual([undefined, 9])
  })

  it('a change that fails and is caught leaves what was read', async () => {
    const { outcome } = await beside(async (session, outside, account) => {
      await insertAccount(session, 'bo')
      await session.getOne('accounts', account.id)
      const taken = session.updateOne('accounts', account.id, { owner: 'bo' })
      await expect(taken).rejects.toMatchObject({ code: 'conflict' })
      await moveIt(outside, account)
      await CHANGES.update?.(session, account)
    })
    expect(outcome).toMatchObject({ code: 'aborted' })
  })

  it('a change that is aborted and caught rolls back alone', async () => {
    const { outcome, others, account } = await beside(async (session, outside, account) => {
      await session.getOne('accounts', account.id)
      await moveIt(outside, account)
      await expect(CHANGES.update?.(session, account)).rejects.toMatchObject({ code: 'aborted' })
      await insertAccount(session, 'bo')
    })
    expect(outcome).toBeUndefined()
    expect(await balanceOf(others, account.id)).toBe(50)
    expect((await others.as(OWNER).get('accounts')).records.length).toBe(2)
  })

  it('a record that others deleted is not found', async () => {
    const { outcome } = await beside(async (session, outside, account) => {
      await session.getOne('accounts', account.id)
      await outside.deleteOne('accounts', account.id)
      await expect(session.deleteOne('accounts', account.id)).rejects.toMatchObject({ code: 'not_found' })
      await CHANGES.update?.(session, account)
    })
    expect(outcome).toMatchObject({ code: 'not_found' })
  })

  it.each([0, 1, 3])('runs work again %i times, and then throws aborted', async (retries) => {
    const { outcome, runs } = await beside(async (session, outside, account) => {
      await session.getOne('accounts', account.id)
      await moveIt(outside, account)
      await CHANGES.update?.(session, account)
    }, retries)
    expect(outcome).toMatchObject({ code: 'aborted' })
    expect(runs).toBe(retries + 1)
  })

  it('a deadlock with another transaction runs again too, and not with 0 retries', async () => {
    const vault = await openAccounts(engine.fresh().open())
    const { records } = await vault.as(OWNER).insert('accounts', [{ fields: { owner: 'ann' } }, { fields: { owner: 'bo' } }])
    const [ann = '', bo = ''] = records.map(({ id }) => id)
    /** Two transactions that lock two records in opposite orders, each the first one before the other begins with its second one. */
    async function deadlock(
      retries: number,
    ): Promise<{ outcomes: { readonly status: string; readonly reason?: unknown }[]; runs: number }> {
      const locked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      let runs = 0
      const swap = (index: number, ids: readonly string[]) =>
        vault.transaction(
          async (inside) => {
            runs++
            for (const id of ids) {
              await inside.as(OWNER).updateOne('accounts', id, { balance: index })
              locked[index]?.resolve()
              await locked[1 - index]?.promise
            }
          },
          { retries },
        )
      const outcomes = await Promise.allSettled([swap(0, [ann, bo]), swap(1, [bo, ann])])
      return { outcomes, runs }
    }
    const once = await deadlock(0)
    expect(once.runs).toBe(2)
    expect(once.outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))).toMatchObject([
      { code: 'aborted' },
    ])
    const again = await deadlock(3)
    expect([again.outcomes.map(({ status }) => status), again.runs]).toEqual([['fulfilled', 'fulfilled'], 3])
  })

  it('in a transaction of the application the change is aborted too, and nothing runs again', async () => {
    const place = engine.fresh()
    const vault = await openAccounts(place.open())
    const account = await insertAccount(vault.as(OWNER))
    const address = place.address()
    const client = new pg.Client({ connectionString: address.url })
    await client.connect()
    try {
      await client.query('begin')
      const session = vault.withTransaction(client).as(OWNER)
      await session.getOne('accounts', account.id)
      await moveIt(vault.as(OWNER), account)
      await expect(CHANGES.update?.(session, account)).rejects.toMatchObject({ code: 'aborted' })
      await client.query('rollback')
    } finally {
      await client.end()
    }
    expect(await balanceOf(vault, account.id)).toBe(50)
  })
})

onEachStorage('the options of a transaction', (engine) => {
  it('are checked before anything runs', async () => {
    const vault = await openAccounts(engine.fresh().open())
    let runs = 0
    const work = async () => void runs++
    for (const options of [
      { retrys: 1 },
      { retries: -1 },
      { retries: 1.5 },
      { retries: 101 },
      { retries: '3' },
      { retries: null },
      null,
      3,
    ]) {
      // @ts-expect-error Options that no transaction has.
      await expect(vault.transaction(work, options)).rejects.toMatchObject({ code: 'invalid_request' })
    }
    expect(runs).toBe(0)
  })

  it('count the runs of work that is aborted, whatever aborted it', async () => {
    const vault = await openAccounts(engine.fresh().open())
    const { id } = await insertAccount(vault.as(OWNER))
    const runs: number[] = []
    const result = vault.transaction(async (inside) => {
      runs.push(Number((await inside.as(OWNER).getOne('accounts', id)).fields.balance))
      await inside.as(OWNER).updateOne('accounts', id, { balance: 9 })
      if (runs.length < 4) throw new VaultError('aborted', 'Again.')
      return 'done'
    })
    await expect(result).resolves.toBe('done')
    expect(runs).toEqual([5, 5, 5, 5])
  })

  it('do not make other errors run again', async () => {
    const vault = await openAccounts(engine.fresh().open())
    let runs = 0
    const failing = vault.transaction(async () => {
      runs++
      throw new VaultError('conflict', 'No.')
    })
    await expect(failing).rejects.toMatchObject({ code: 'conflict' })
    expect(runs).toBe(1)
  })
})
