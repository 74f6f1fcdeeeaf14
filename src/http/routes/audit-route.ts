/** The route of audit events, of one vault or of an account. Source: specification, "Audit". */
import { type EventQueryInput, isVaultError, type OperationResult, VaultError } from '../../index.ts'
import { bearerOf } from '../router/enter-vault.ts'
import { longJsonResponse } from '../router/json-response.ts'
import { type QueryTexts, readQuery } from '../router/request-shape.ts'
import type { OpenCall, OpenRoute, VaultAccess } from '../router/route.ts'
import { AUDIT_EXAMPLE } from './audit-example.ts'
import { AUDIT_QUERY, AUDIT_RESPONSE } from './audit-shapes.ts'
import { mergePages } from './merge-event-pages.ts'

/** The route of audit events. */
export const auditRoute: OpenRoute = {
  access: 'open',
  method: 'GET',
  path: '/v1/audit/events',
  name: 'listAuditEvents',
  example: AUDIT_EXAMPLE,
  group: 'Audit',
  summary: 'Lists audit events of a vault, or of all vaults of an account that the caller can audit.',
  operation: 'listEvents',
  verb: 'List events',
  statuses: [400, 401, 404, 500],
  query: AUDIT_QUERY,
  response: AUDIT_RESPONSE,
  async handle(call) {
    const texts = call.query()
    const entered = await enterAll(call, await vaultsOf(call, texts))
    const query = toEventQuery(texts)
    if (!('accountID' in query.filterOps)) throw new VaultError('invalid_request', 'filterOps.accountID is required.')
    const pages = await listAll(entered, entered.length === 1 ? query : mergePages.toEach(query))
    const [first] = pages
    const { events, nextOps } = pages.length === 1 && first !== undefined ? first : mergePages.merge(query, pages)
    return longJsonResponse(200, { event: events, ...(nextOps === undefined ? {} : { nextOps }) })
  },
}

/** Returns the ids of the vaults that the request is about: the one it names, or those of its account. */
async function vaultsOf({ scope }: OpenCall, texts: QueryTexts): Promise<readonly string[]> {
  const vaultID = texts.get('filterOps.vaultID')?.[0]
  if (vaultID !== undefined && vaultID !== '') return [vaultID]
  const accountID = texts.get('filterOps.accountID')?.[0]
  return scope.vaultsOfAccount(accountID === '' ? undefined : accountID)
}

/** Enters the vaults that the credential is valid for. Throws `unauthenticated` if there are none. */
async function enterAll({ enter, request, scope }: OpenCall, vaultIDs: readonly string[]): Promise<VaultAccess[]> {
  const entered: VaultAccess[] = []
  // Without a credential no vault needs to be opened but one, which records it.
  if (bearerOf(request.header('authorization')) === undefined) return [await enter(vaultIDs[0] ?? '')]
  let refusal: unknown
  for (const vaultID of vaultIDs) {
    try {
      entered.push(await enter(vaultID))
    } catch (error) {
      if (!isVaultError(error, 'unauthenticated')) throw error
      refusal = error
    }
  }
  // No vault has this id, so none checks the credential.
  if (entered.length === 0) throw refusal ?? (await enter('').catch((error: unknown) => error))
  // What fails from here on is recorded where the caller is known, and not in the vault that was tried last.
  const [first] = entered
  if (first !== undefined) scope.named(first.vault, first.caller)
  return entered
}

/** Returns a page of each vault that the caller can audit. Throws `forbidden` if there are none. */
async function listAll(entered: readonly VaultAccess[], query: EventQueryInput): Promise<OperationResult<'listEvents'>[]> {
  const pages = await Promise.allSettled(entered.map(({ session }) => session.perform('listEvents', { query })))
  const refused = pages.filter((page) => page.status === 'rejected').map(({ reason }): unknown => reason)
  const fatal =
    refused.find((reason) => !isVaultError(reason, 'forbidden')) ?? (refused.length === pages.length ? refused[0] : undefined)
  if (fatal !== undefined) throw fatal
  return pages.flatMap((page) => (page.status === 'fulfilled' ? [page.value] : []))
}

/** Returns the input of the operation: members with dots in their names are nested. */
function toEventQuery(texts: QueryTexts): EventQueryInput {
  const query: Record<string, unknown> = { filterOps: {} }
  for (const [path, value] of Object.entries(readQuery(AUDIT_QUERY, texts))) {
    if (value === undefined) continue
    const names = path.split('.')
    let place = query
    for (const name of names.slice(0, -1)) {
      place[name] ??= {}
      // Only this loop makes members.
      place = place[name] as Record<string, unknown>
    }
    place[names.at(-1) ?? ''] = value
  }
  // The vault checks all of it.
  return query as unknown as EventQueryInput
}
