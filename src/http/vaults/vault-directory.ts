/** The vaults of a host: found by id, opened when they are first asked for, and closed when they were idle for a while. */
import { VaultError } from '../../index.ts'
import { createOpenVaults, type HostedVault, type Lease, type OpenVault, type OpenVaultsOptions } from './open-vaults.ts'

/** One vault, a list of vaults, or a function that opens one by its id. */
export type VaultSource = HostedVault | readonly HostedVault[] | OpenVault

/** Returns the ids of the vaults of an account; of every account if none is given. */
export type VaultsOfAccount = (accountID: string | undefined) => Promise<readonly string[]> | readonly string[]

/** The vaults of a host. */
export interface VaultDirectory {
  /** Returns a vault in use; undefined for an unknown one. A vault that is always open needs no promise. Throws what opening it threw, or `unavailable`. */
  lease(vaultID: string): Promise<Lease | undefined> | Lease | undefined
  /** Returns the ids of the vaults of an account; of every account if none is given. Throws `invalid_request` if the host does not list them. */
  vaultsOfAccount(accountID: string | undefined): Promise<readonly string[]>
  /** Closes the vaults that the directory opened, each when it is released. Resolves when all are closed. */
  close(): Promise<void>
}

/** Options of a directory whose source is a function. */
export interface DirectoryOptions extends OpenVaultsOptions {
  readonly vaultsOfAccount?: VaultsOfAccount
}

/** Returns the vaults of a source. Throws `invalid_request` for anything else than a source. */
export function createVaultDirectory(source: VaultSource, options: DirectoryOptions = {}): VaultDirectory {
  const { vaultsOfAccount = unlisted } = options
  if (typeof source === 'function')
    return { ...createOpenVaults(source, options), vaultsOfAccount: async (accountID) => vaultsOfAccount(accountID) }
  const byId = vaultsById(isList(source) ? source : [source])
  const leases = new Map([...byId].map(([id, vault]): [string, Lease] => [id, { vault, release: () => {} }]))
  return {
    lease: (vaultID) => leases.get(vaultID),
    async vaultsOfAccount(accountID) {
      const ofAccount = [...byId.values()].filter((vault) => accountID === undefined || vault.accountId === accountID)
      return ofAccount.map(({ id }) => id)
    },
    close: async () => {},
  }
}

/** Returns the id of the vault of a source that has one alone; undefined for several, and for a function. */
export function onlyVaultOf(source: VaultSource): string | undefined {
  if (typeof source === 'function') return undefined
  const [first, ...others] = isList(source) ? source : [source]
  return others.length === 0 ? first?.id : undefined
}

function isList(source: HostedVault | readonly HostedVault[]): source is readonly HostedVault[] {
  return Array.isArray(source)
}

function vaultsById(vaults: readonly HostedVault[]): ReadonlyMap<string, HostedVault> {
  const byId = new Map<string, HostedVault>()
  for (const vault of vaults) {
    if (typeof vault?.as !== 'function' || typeof vault.id !== 'string')
      throw new VaultError('invalid_request', 'Option "vaults" must be an open vault, a list of them, or a function.')
    if (byId.has(vault.id)) throw new VaultError('invalid_request', 'Option "vaults" has two vaults of one id.')
    byId.set(vault.id, vault)
  }
  return byId
}

function unlisted(): never {
  throw new VaultError('invalid_request', 'This server does not list the vaults of an account. Name one in filterOps.vaultID.')
}

/**
 * Returns the source. Throws `invalid_request` for a vault with a column that has the name of the record id, because its value would take the
 * place of the id in every response; a function that opens one throws `internal` when it does. */
export function checkIdName(source: VaultSource, idName: string): VaultSource {
  if (typeof source === 'function') {
    return async (vaultID) => {
      const vault = await source(vaultID)
      if (vault === undefined || tableWith(vault, idName) === undefined) return vault
      await vault.close()
      // The caller is not authenticated yet, so the text has nothing of the schema.
      throw new VaultError('internal', 'Option "names.id" is the name of a column of this vault. Choose another name.')
    }
  }
  for (const vault of [source].flat()) {
    const table = tableWith(vault, idName)
    if (table === undefined) continue
    throw new VaultError('invalid_request', `Option "names.id" is the name of a column of table "${table}". Choose another name.`)
  }
  return source
}

/** Returns the table that has the column. What is no vault is refused later. */
function tableWith(vault: Partial<HostedVault> | undefined, idName: string): string | undefined {
  return Object.entries(vault?.schema ?? {}).find(([, columns]) => Object.hasOwn(columns, idName))?.[0]
}
