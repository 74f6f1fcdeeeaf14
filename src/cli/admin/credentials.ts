/** What callers show: `credentials create`, `list` and `revoke`. */
import { createApiKey, createServiceAccount } from '../../http/index.ts'
import type { CommandRun, CommandWork } from '../command.ts'
import type { AnySession } from '../config/any-vault.ts'
import type { Config } from '../config/define-config.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { type Row, timeOf } from '../output/cells.ts'
import { writeNewFile } from '../output/new-file.ts'
import { contextOf } from './pair-options.ts'

const BUILT_IN: ReadonlySet<string> = new Set(['VAULT_OWNER', 'VAULT_EDITOR', 'VAULT_VIEWER'])

/** Returns whether a role allows anything by itself, or is one of the policy. */
export function isKnownRole({ vault }: Config, role: string): boolean {
  return BUILT_IN.has(role) || Object.hasOwn(vault.policy ?? {}, role)
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 }
const PAGE = 500

/** The work of `strongroom credentials create`. */
export const createCredential: CommandWork = async (run) => {
  const { options, output } = run
  const name = options.text('name') ?? ''
  const roles = options.list('grant')
  if (name === '' || roles.length === 0)
    throw new CommandFailure(EXIT.usage, 'Specify --name, and --grant once for each role of the credential.')
  const expiresAt = expiryOf(options.text('expires'))
  const context = contextOf(options)
  const given = { name, roles, ...(expiresAt === undefined ? {} : { expiresAt }), ...(context === undefined ? {} : { context }) }
  const out = options.text('out')
  const { config } = await run.loadConfig()
  for (const role of roles)
    if (!isKnownRole(config, role)) output.note(`The policy does not define role ${role}: it allows nothing until it does.`)
  if (options.isSet('serviceAccount')) return createAccount(run, given, out)
  if (out !== undefined) return createKeyFile(run, given, out)
  const { keyId, apiKey } = await createApiKey(await run.openSession(), given)
  output.result({ keyId, apiKey }, () => apiKey)
  output.note(`Shown this once. Its key id is ${keyId}; \`strongroom credentials revoke ${keyId}\` ends it.`)
  return undefined
}

type Given = Parameters<typeof createApiKey>[1]

async function createAccount(run: CommandRun, given: Given, out: string | undefined): Promise<undefined> {
  if (out === undefined)
    throw new CommandFailure(EXIT.usage, 'Specify --out: the file for the key of the service account, which must not exist.')
  const { config } = await run.loadConfig()
  const uris = [run.options.text('tokenUri') ?? config.http?.tokenURI ?? []].flat()
  const [tokenURI] = uris
  if (tokenURI === undefined)
    throw new CommandFailure(
      EXIT.usage,
      'Specify --token-uri, or http.tokenURI in the configuration: the URL of /v1/auth/sa/oauth/token as clients reach it.',
    )
  const { keyID: keyId, clientID: clientId } = await writeSecret(
    out,
    async () => createServiceAccount(await run.openSession(), { ...given, tokenURI }),
    (key) => JSON.stringify(key, undefined, 2),
  )
  run.output.result({ keyId, clientId, file: out }, () => `Wrote ${out}. Its key id is ${keyId}.`)
  return undefined
}

async function createKeyFile(run: CommandRun, given: Given, out: string): Promise<undefined> {
  const { keyId } = await writeSecret(
    out,
    async () => createApiKey(await run.openSession(), given),
    ({ apiKey }) => apiKey,
  )
  run.output.result({ keyId, file: out }, () => `Wrote ${out}. Its key id is ${keyId}.`)
  return undefined
}

/** Makes the file first, so that no credential is made whose key is then lost. Only its owner can read it. */
async function writeSecret<Made>(file: string, make: () => Promise<Made>, textOf: (made: Made) => string): Promise<Made> {
  let made: Made | undefined
  async function* pieces(): AsyncGenerator<string> {
    made = await make()
    yield `${textOf(made)}\n`
  }
  await writeNewFile(file, pieces())
  return made as Made
}

/** Returns the time of `--expires`, or another option: `12h`, `90d`, or a date. */
export function expiryOf(text: string | undefined, option = '--expires'): number | undefined {
  if (text === undefined) return undefined
  const [, count, unit = ''] = /^(\d{1,5})([hd])$/.exec(text) ?? []
  const time = count === undefined ? Date.parse(text) : Date.now() + Number(count) * (UNITS[unit] ?? Number.NaN)
  if (Number.isSafeInteger(time)) return time
  throw new CommandFailure(EXIT.usage, `${option} must be a time from now, as 12h or 90d, or a date, as 2027-01-31.`)
}

/** A credential as the vault lists it. */
type Listed = Awaited<ReturnType<AnySession['listCredentials']>>['credentials'][number]

/** Returns all credentials. */
export async function listAll(session: Pick<AnySession, 'listCredentials'>, { vault }: Config): Promise<readonly Listed[]> {
  const page = Math.min(PAGE, vault.limits?.maxPageSize ?? PAGE)
  const all: Listed[] = []
  for (;;) {
    const { credentials } = await session.listCredentials({ offset: all.length, limit: page })
    for (const one of credentials) all.push(one)
    if (credentials.length < page) return all
  }
}

/** The work of `strongroom credentials list`. */
export const listCredentials: CommandWork = async (run) => {
  const { config } = await run.loadConfig()
  const all = await listAll(await run.openSession(), config)
  const now = Date.now()
  const shown = run.options.isSet('all') ? all : all.filter((one) => stateOf(one, now) === 'valid')
  run.output.rows(
    shown.map((one): Row => {
      const { keyId, kind, name, roles, context, createdAt, expiresAt } = one
      const row = { keyId, kind, name, roles, state: stateOf(one, now), created: timeOf(createdAt) }
      return { ...row, ...(expiresAt === undefined ? {} : { expires: timeOf(expiresAt) }), ...(context && { context }) }
    }),
    'There are no credentials.',
  )
  return undefined
}

/** The state of a credential at a time in milliseconds since 1970. */
export function stateOf({ revokedAt, expiresAt }: Listed, now: number): 'valid' | 'revoked' | 'expired' {
  if (revokedAt !== undefined) return 'revoked'
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'valid'
}

/** The work of `strongroom credentials revoke`. */
export const revokeCredential: CommandWork = async ({ args, openSession, output }) => {
  const [keyId = ''] = args
  const session = await openSession()
  output.result({ keyId, ...(await session.revokeCredential({ keyId })) }, () => `Revoked ${keyId}, in every process.`)
  return undefined
}
