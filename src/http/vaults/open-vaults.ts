/** Vaults as a handler uses them, and those that a function of the host opens: shared by requests, and closed after an idle time. */
import { type Caller, isVaultError, type SchemaDefinition, type Session, type Vault, VaultError } from '../../index.ts'
import { type After, afterTime, createIdleList, type IdleOptions, LATE, withinTime } from './idle-list.ts'

/** A vault of any schema: sessions by the names of operations only, whose types do not depend on the schema. */
export interface HostedVault extends Omit<Vault, 'as' | 'transaction' | 'withTransaction'> {
  as(caller: Caller): Pick<Session<SchemaDefinition>, 'perform'>
}

/**
 * Opens a vault by its id, 1 to 128 characters, and returns undefined for an unknown one. It is called once for each vault in use, and the
 * handler closes what it opened. What it throws is answered as `unavailable`, or with the status 500 and the code of a `VaultError` that has
 * it, and the next request calls it again. A request waits for it up to 30 seconds.
 */
export type OpenVault = (vaultID: string) => Promise<HostedVault | undefined> | HostedVault | undefined

/** A vault that is not closed before it is released. */
export interface Lease {
  readonly vault: HostedVault
  /** Releasing again does nothing more. */
  release(): void
}

/** Options of vaults that a function opens. */
export type OpenVaultsOptions = Partial<IdleOptions>

/** Vaults that a function opens. */
export interface OpenVaults {
  /** Returns a vault in use; undefined for an unknown one. Throws what opening it threw, or `unavailable`. */
  lease(vaultID: string): Promise<Lease | undefined>
  /** Closes the vaults, each when it is released. Resolves when all are closed, except for one whose opening or closing takes over 30 seconds. */
  close(): Promise<void>
}

/**
 * Time for which a request waits until its vault is open, and the end of a handler until one is closed, in milliseconds. Both go on then:
 * a later request finds the vault open.
 */
const MAX_WAIT_MS = 30_000
/** Maximum length of the id of a vault. */
const MAX_ID_LENGTH = 128

/** One vault that is opened or open. */
interface OpenedVault {
  readonly id: string
  readonly opening: Promise<HostedVault | undefined>
  /** Undefined until it is open. */
  ready: HostedVault | undefined
  leases: number
}

/**
 * Returns the vaults that a function opens. One vault never waits for another. A vault that closes is opened again only when it is closed.
 * Unknown ids are not remembered. The number of vaults in use has no limit but that of requests; 100 idle ones stay open.
 */
export function createOpenVaults(open: OpenVault, options: OpenVaultsOptions = {}): OpenVaults {
  const { after = afterTime } = options
  const vaults = createVaultSet(open, after)
  const idle = createIdleList<OpenedVault>(options, (vault) => vaults.close(vault))
  let isClosed = false
  const release = (vault: OpenedVault): void => {
    vault.leases--
    if (vault.leases > 0) return
    if (isClosed) vaults.close(vault)
    else idle.add(vault)
  }
  return {
    async lease(vaultID) {
      if (isClosed) throw new VaultError('unavailable', 'The server is closing. Send the request to another one, or later.')
      if (vaultID === '' || vaultID.length > MAX_ID_LENGTH) return undefined
      const vault = vaults.get(vaultID)
      vault.leases++
      idle.remove(vault)
      const ready = vault.ready ?? (await withinTime(vault.opening, MAX_WAIT_MS, after))
      if (ready === LATE) {
        release(vault)
        throw new VaultError('unavailable', 'The vault is not open yet. Send the request again later.')
      }
      return ready === undefined ? undefined : { vault: ready, release: once(() => release(vault)) }
    },
    async close() {
      isClosed = true
      for (const vault of idle.clear()) vaults.close(vault)
      await vaults.allClosed()
    },
  }
}

/** The vaults that are opened, open or closing, by id. */
function createVaultSet(open: OpenVault, after: After) {
  const opened = new Map<string, OpenedVault>()
  const closing = new Map<string, Promise<void>>()
  let allForgotten = (): void => {}
  const forget = (vault: OpenedVault): void => {
    if (opened.get(vault.id) === vault) opened.delete(vault.id)
    if (opened.size === 0) allForgotten()
  }
  return {
    get(id: string): OpenedVault {
      const known = opened.get(id)
      if (known !== undefined) return known
      const opening = (closing.get(id) ?? Promise.resolve()).then(() => openById(open, id))
      const vault: OpenedVault = { id, opening, ready: undefined, leases: 0 }
      opened.set(id, vault)
      // A vault that is unknown or failed to open is not kept: the next request opens it again.
      opening.then(
        (ready) => {
          vault.ready = ready
          if (ready === undefined) forget(vault)
        },
        () => forget(vault),
      )
      return vault
    },
    close(vault: OpenedVault): void {
      if (opened.get(vault.id) !== vault) return
      const closed = closeQuietly(vault).then(() => {
        if (closing.get(vault.id) === closed) closing.delete(vault.id)
      })
      closing.set(vault.id, closed)
      forget(vault)
    },
    async allClosed(): Promise<void> {
      const forgotten = new Promise<void>((resolve) => {
        allForgotten = resolve
      })
      if (opened.size > 0) await forgotten
      await Promise.all([...closing.values()].map((closed) => withinTime(closed, MAX_WAIT_MS, after)))
    },
  }
}

async function openById(open: OpenVault, id: string): Promise<HostedVault | undefined> {
  // A host without types can return null for an unknown vault.
  const vault = (await opened(open, id)) ?? undefined
  if (vault === undefined) return undefined
  if (typeof vault.as !== 'function') throw new VaultError('internal', 'Option "vaults" opened what is no vault.')
  if (vault.id === id) return vault
  await vault.close()
  throw new VaultError('internal', 'Option "vaults" opened a vault of another id than it was asked for.')
}

async function opened(open: OpenVault, id: string): Promise<HostedVault | undefined> {
  try {
    return await open(id)
  } catch (error) {
    if (isVaultError(error) && error.httpStatus >= 500) throw error
    // Nothing is wrong with the request. Any other error can quote anything: the host logs it where it is thrown.
    const cause = isVaultError(error) ? { cause: error } : {}
    throw new VaultError('unavailable', 'The vault could not be opened. Send the request again later.', [], cause)
  }
}

/** A vault that fails to close is not used again either. */
async function closeQuietly({ opening }: OpenedVault): Promise<void> {
  await opening.then((vault) => vault?.close()).catch(() => {})
}

function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
