/** The vaults of a host: opened once, shared, closed when idle, and independent of each other. */
import { describe, expect, it } from 'vitest'
import type { HostedVault } from '../../../src/http/vaults/open-vaults.ts'
import { createVaultDirectory, type VaultSource } from '../../../src/http/vaults/vault-directory.ts'
import { type Vault, VaultError } from '../../../src/index.ts'
import { serveVault } from '../../support/http/serve-vault.ts'
import { memoryEngine } from '../../support/storages/engines.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

/** Opens a vault in memory. */
function openVault(id: string): Promise<Vault> {
  return openPeople(memoryEngine().fresh().open(), id)
}

/** A host that counts what it opened, and a timer that the test fires. */
function createHost(open: (id: string) => Promise<Vault | undefined> = openVault) {
  const opened: string[] = []
  const timers = new Set<() => void>()
  const directory = createVaultDirectory(
    (id) => {
      opened.push(id)
      return open(id)
    },
    {
      idleMs: 1000,
      after(_, callback) {
        timers.add(callback)
        return () => timers.delete(callback)
      },
    },
  )
  return {
    opened,
    directory,
    pending: () => timers.size,
    passTime() {
      for (const callback of [...timers]) callback()
    },
  }
}

/** Whether a vault still works. */
async function isOpen(vault: HostedVault): Promise<boolean> {
  return vault
    .as(OWNER)
    .perform('get', { table: 'people' })
    .then(
      () => true,
      () => false,
    )
}

describe('vaults that a function opens', () => {
  it('are opened once for concurrent first requests', async () => {
    const { directory, opened } = createHost()
    const leases = await Promise.all(Array.from({ length: 20 }, () => directory.lease('v1')))
    expect(opened).toEqual(['v1'])
    expect(new Set(leases.map((lease) => lease?.vault)).size).toBe(1)
    for (const lease of leases) lease?.release()
    await directory.close()
  })

  it('are closed when idle, and opened again when asked for', async () => {
    const { directory, opened, passTime } = createHost()
    const first = await directory.lease('v1')
    first?.release()
    passTime()
    const second = await directory.lease('v1')
    expect(opened).toEqual(['v1', 'v1'])
    expect(first !== undefined && (await isOpen(first.vault))).toBe(false)
    expect(second !== undefined && (await isOpen(second.vault))).toBe(true)
    second?.release()
    await directory.close()
  })

  it('are not closed while one request uses them', async () => {
    const { directory, opened, passTime, pending } = createHost()
    const [first, second] = [await directory.lease('v1'), await directory.lease('v1')]
    first?.release()
    first?.release()
    expect(pending()).toBe(0)
    passTime()
    expect(second !== undefined && (await isOpen(second.vault))).toBe(true)
    second?.release()
    expect(pending()).toBe(1)
    expect(opened).toEqual(['v1'])
    await directory.close()
    expect(pending()).toBe(0)
  })

  it('are at most 100 while idle; the one that is idle for longest is closed', async () => {
    const closed: string[] = []
    const { directory } = createHost(async (id) => {
      const vault = await openVault(id)
      return { ...vault, close: () => vault.close().then(() => void closed.push(id)) }
    })
    for (let number = 0; number < 102; number++) (await directory.lease(`v${number}`))?.release()
    await expect.poll(() => closed).toEqual(['v0', 'v1'])
    await directory.close()
    expect(closed).toHaveLength(102)
  })

  it('are asked for again after a failed opening, and after an unknown id', async () => {
    let attempts = 0
    const { directory } = createHost(async (id) => {
      attempts++
      if (attempts === 1) throw new Error('TEST_SECRET of the host')
      if (attempts === 2) throw new VaultError('failed_precondition', 'The key differs.')
      return attempts === 3 ? undefined : openVault(id)
    })
    await expect(directory.lease('v1')).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The vault could not be opened. Send the request again later.',
    })
    await expect(directory.lease('v1')).rejects.toMatchObject({ code: 'unavailable', cause: { message: 'The key differs.' } })
    expect(await directory.lease('v1')).toBeUndefined()
    const lease = await directory.lease('v1')
    expect(lease?.vault.id).toBe('v1')
    lease?.release()
    await directory.close()
  })

  it('are waited for up to a time, and are closed if the handler ended meanwhile', async () => {
    let open = (_vault: Vault): void => {}
    const opening = new Promise<Vault>((resolve) => {
      open = resolve
    })
    const { directory, opened, passTime, pending } = createHost(() => opening)
    const waiting = [directory.lease('v1'), directory.lease('v1')]
    expect(pending()).toBe(2)
    passTime()
    for (const lease of waiting) await expect(lease).rejects.toMatchObject({ code: 'unavailable' })
    const later = directory.lease('v1')
    const vault = await openVault('v1')
    open(vault)
    const lease = await later
    expect([opened, lease?.vault]).toEqual([['v1'], vault])
    lease?.release()
    await directory.close()
    expect(await isOpen(vault)).toBe(false)
  })

  it('do not hold up the end of the handler if they never open', async () => {
    const { directory, passTime } = createHost(() => new Promise<never>(() => {}))
    const waiting = directory.lease('v1')
    passTime()
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
    const closing = directory.close()
    await new Promise(setImmediate)
    passTime()
    await closing
  })

  it('are unknown if the host returns null, and an error of the server if it returns something else', async () => {
    const returned = [null, { id: 'v1' }] as unknown[] as Vault[]
    const { directory } = createHost(async () => returned.shift())
    expect(await directory.lease('v1')).toBeUndefined()
    await expect(directory.lease('v1')).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('no vault') })
  })

  it('are not those of another id', async () => {
    const { directory } = createHost(() => openVault('v2'))
    await expect(directory.lease('v1')).rejects.toMatchObject({ code: 'internal' })
  })

  it('are not asked for by an id that no vault can have', async () => {
    const { directory, opened } = createHost()
    expect(await directory.lease('')).toBeUndefined()
    expect(await directory.lease('x'.repeat(129))).toBeUndefined()
    expect(opened).toEqual([])
  })

  it('are closed at the end only when they are released', async () => {
    const { directory } = createHost()
    const lease = await directory.lease('v1')
    let isClosed = false
    const closing = directory.close().then(() => {
      isClosed = true
    })
    await expect(directory.lease('v2')).rejects.toMatchObject({ code: 'unavailable' })
    expect(isClosed).toBe(false)
    expect(lease !== undefined && (await isOpen(lease.vault))).toBe(true)
    lease?.release()
    await closing
    expect(lease !== undefined && (await isOpen(lease.vault))).toBe(false)
  })

  it('are listed by account if the host lists them', async () => {
    await expect(createHost().directory.vaultsOfAccount('acme')).rejects.toMatchObject({ code: 'invalid_request' })
    const listed = createVaultDirectory(openVault, { vaultsOfAccount: (account) => [`${account}-1`] })
    expect(await listed.vaultsOfAccount('acme')).toEqual(['acme-1'])
  })
})

describe('vaults that are passed open', () => {
  it('are found by id, listed by account, and stay open', async () => {
    const vaults = [await openVault('v1'), await openVault('v2')]
    const directory = createVaultDirectory(vaults)
    expect((await directory.lease('v2'))?.vault).toBe(vaults[1])
    expect(await directory.lease('v3')).toBeUndefined()
    expect(await directory.vaultsOfAccount(undefined)).toEqual(['v1', 'v2'])
    expect(await directory.vaultsOfAccount('v2')).toEqual(['v2'])
    await directory.close()
    expect(await Promise.all(vaults.map(isOpen))).toEqual([true, true])
    await Promise.all(vaults.map((vault) => vault.close()))
  })

  it('must be vaults, each of its own id', async () => {
    const vault = await openVault('v1')
    expect(() => createVaultDirectory([vault, vault])).toThrow('two vaults of one id')
    expect(() => createVaultDirectory([{}] as unknown as VaultSource)).toThrow('Option "vaults" must be')
    await vault.close()
  })
})

describe('one vault of several', () => {
  it('that hangs, fails or does not exist delays no other', async () => {
    const good = await openVault('good')
    const hanging = await openVault('hanging')
    const served = await serveVault({
      vault: good,
      handler: {
        vaults: async (id) => {
          if (id === 'good') return { ...good, close: async () => {} }
          if (id === 'opening') return new Promise<never>(() => {})
          if (id === 'failing') throw new Error('TEST_SECRET of the host')
          // Every operation of this one waits for a storage that does not answer.
          if (id === 'hanging')
            return { ...hanging, as: () => ({ ...hanging.as(OWNER), perform: () => new Promise<never>(() => {}) }) }
          return undefined
        },
      },
    })
    const answered: string[] = []
    for (const id of ['opening', 'hanging'])
      for (let number = 0; number < 20; number++)
        served.ask('GET', `/v1/vaults/${id}/people`).then(
          () => answered.push(id),
          () => {},
        )
    for (let number = 0; number < 20; number++) expect((await served.ask('GET', '/v1/vaults/good/people')).status).toBe(200)
    const failing = await served.ask('GET', '/v1/vaults/failing/people')
    expect(failing).toMatchObject({ status: 500, json: { error: { grpc_code: 14 } } })
    expect(failing.text).not.toContain('TEST_SECRET')
    expect((await served.ask('GET', '/v1/vaults/missing/people')).status).toBe(401)
    expect(answered).toEqual([])
    served.server.closeAllConnections()
    served.server.close()
    await Promise.all([good.close(), hanging.close()])
  })
})
