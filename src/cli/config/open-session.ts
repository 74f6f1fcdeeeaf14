/** The caller that a line acts as. */
import { userInfo } from 'node:os'
import type { Caller } from '../../index.ts'
import type { CommandRun } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import type { AnySession, AnyVault } from './any-vault.ts'
import { readVariable } from './secrets.ts'

/** The line, as far as it names a caller. */
type CallerLine = Pick<CommandRun, 'options' | 'environment'>

/** Returns a session of the caller of a line. */
export async function openSession(vault: AnyVault, line: CallerLine): Promise<AnySession> {
  return vault.as(await callerOf(vault, line))
}

/**
 * Returns the API key that `--api-key-env` names, or the account that runs the command, with the roles of `--role`. Who can read the key of the vault can
 * read everything in it, so the default is its owner. Events name the account.
 */
export async function callerOf(vault: AnyVault, { options, environment }: CallerLine): Promise<Caller> {
  const name = options.text('apiKeyEnv')
  const purpose = options.text('purpose')
  const stated = purpose === undefined ? {} : { purpose }
  if (name === undefined) {
    const roles = options.list('role')
    return {
      actor: `cli:${userInfo().username}`,
      actorType: 'USER',
      roles: roles.length === 0 ? ['VAULT_OWNER'] : roles,
      ...stated,
    }
  }
  const { apiKeys } = await import('../../http/index.ts')
  const credential = readVariable(name, '--api-key-env', environment)
  const found = await apiKeys()({ credential, vault, vaultID: vault.id, header: () => undefined })
  if (found !== undefined && 'caller' in found) return { ...found.caller, ...stated }
  throw new CommandFailure(EXIT.refused, `--api-key-env: ${found?.refused ?? 'unknown kind of credential'}.`)
}
