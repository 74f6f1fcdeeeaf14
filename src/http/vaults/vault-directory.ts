/** The vaults of a host: found by id, opened when they are first asked for, and closed when they were idle for a while. */
import type { Vault } from '../../index.ts'

// Sessions of any schema are used by the names of operations only.
/** A vault of any schema. */
export type AnyVault = Pick<Vault, 'id' | 'as' | 'close'>

/** One vault, a list of vaults, or a function that opens one by its id and returns undefined for an unknown one. */
export type VaultSource = Vault | readonly Vault[] | OpenVault

/** Opens a vault by its id. It is called once for each vault that is in use, and the handler closes what it opened. */
export type OpenVault = (vaultID: string) => Promise<Vault | undefined> | Vault | undefined

/** A vault that is not closed before it is released. */
export interface Lease {
  readonly vault: Vault
  release(): void
}

/** The vaults of a host. */
export interface VaultDirectory {
  /** Returns a vault in use; undefined for an unknown one. */
  lease(vaultID: string): Promise<Lease | undefined>
  /** Returns the ids of the vaults of an account; of every account if none is given. */
  vaultsOfAccount(accountID: string | undefined): Promise<readonly string[]>
  /** Closes the vaults that the directory opened. */
  close(): Promise<void>
}

/** Returns the vaults of a source. */
export function createVaultDirectory(source: VaultSource): VaultDirectory {
  if (typeof source === 'function') throw new Error('not yet')
  const known: readonly Vault[] = Array.isArray(source) ? source : [source as Vault]
  const byId = new Map(known.map((vault) => [vault.id, vault]))
  return {
    vaultsOfAccount: async (accountID) =>
      known.filter((vault) => accountID === undefined || vault.accountId === accountID).map(({ id }) => id),
    async lease(vaultID) {
      const vault = byId.get(vaultID)
      return vault === undefined ? undefined : { vault, release: () => {} }
    },
    close: async () => {},
  }
}
