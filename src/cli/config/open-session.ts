/** The caller that a line acts as. */
import { userInfo } from 'node:os'
import type { CommandRun } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import type { AnySession, AnyVault } from './any-vault.ts'
import { readVariable } from './secrets.ts'

/**
 * Returns a session of the API key that `--api-key-env` names, or of the account that runs the command, with the roles of `--role`. Who can read
 * the key of the vault can read everything in it, so the default is its owner. Events name the account.
 */
export async function openSession(
  vault: AnyVault,
  { options, environment }: Pick<CommandRun, 'options' | 'environment'>,
): Promise<AnySession> {
  const name = options.text('apiKeyEnv')
  const purpose = options.text('purpose')
  const stated = purpose === undefined ? {} : { purpose }
  if (name === undefined) {
    const roles = options.list('role')
    return vault.as({
      actor: `cli:${userInfo().username}`,
      actorType: 'USER',
      roles: roles.length === 0 ? ['VAULT_OWNER'] : roles,
      ...stated,
    })
  }
  const { apiKeys } = await import('../../http/index.ts')
  const credential = readVariable(name, '--api-key-env', environment)
  const found = await apiKeys()({ credential, vault, vaultID: vault.id, header: () => undefined })
  if (found !== undefined && 'caller' in found) return vault.as({ ...found.caller, ...stated })
  throw new CommandFailure(EXIT.refused, `--api-key-env: ${found?.refused ?? 'unknown kind of credential'}.`)
}
