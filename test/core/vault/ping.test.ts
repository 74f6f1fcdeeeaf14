/** A ping of a vault: one short read that says whether the storage answers, and `await using`, which closes. */
import { expect, it } from 'vitest'
import { VaultError } from '../../../src/core/errors.ts'
import { eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

onEachStorage('ping', (engine) => {
  it('resolves if the storage answers, and records no event', async () => {
    const vault = await openClients(engine.fresh().open())
    expect(await vault.ping()).toEqual({ ok: true })
    expect(await eventsOf(vault)).toEqual([])
    await vault.close()
  })

  it('throws unavailable if the storage cannot be reached, and failed_precondition after the vault was closed', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const vault = await openClients(faulty.storage)
    faulty.fail(() => new VaultError('unavailable', 'The storage cannot be reached.'))
    await expect(vault.ping()).rejects.toMatchObject({ code: 'unavailable' })
    faulty.mend()
    expect(await vault.ping()).toEqual({ ok: true })
    await vault.close()
    await expect(vault.ping()).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('is refused inside a transaction, which it could wait for', async () => {
    const vault = await openClients(engine.fresh().open())
    await vault.transaction(async () => {
      await expect(vault.ping()).rejects.toMatchObject({ code: 'internal' })
    })
    await vault.close()
  })
})

onEachStorage('await using', (engine) => {
  it('closes a vault at the end of its block, also after an error', async () => {
    const error = new Error('the work failed')
    let left: Awaited<ReturnType<typeof openClients>> | undefined
    const work = async () => {
      await using vault = await openClients(engine.fresh().open())
      left = vault
      await vault.as(OWNER).insert('clients', [{ fields: { name: 'Ann' } }])
      throw error
    }
    await expect(work()).rejects.toBe(error)
    await expect(left?.ping()).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('closes a storage', async () => {
    const opened = engine.fresh().open()
    const dispose: unknown = Reflect.get(opened, Symbol.asyncDispose)
    if (typeof dispose !== 'function') throw new Error('The storage has no Symbol.asyncDispose.')
    await Reflect.apply(dispose, opened, [])
    if (engine.name !== 'memory') await expect(openClients(opened)).rejects.toMatchObject({ code: expect.any(String) })
  })
})
