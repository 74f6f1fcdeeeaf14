/** Checks that no column of a vault has the name of the record id: the value of the column would take the place of the id in every response. */
import { VaultError } from '../../index.ts'
import type { HostedVault } from './hosted-vault.ts'
import type { VaultSource } from './vault-directory.ts'

/** Returns the source. Throws `invalid_request` for a vault with such a column; a function that opens one throws `internal` when it does. */
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
