/** The credentials of the vault: who has one, when it was last used, a new one, and the end of one. */
import { useState } from 'preact/hooks'
import type { OperationResult } from '../../../index.ts'
import { announce } from '../../app/announce.ts'
import { perform } from '../../app/api.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Failure } from '../../ui/failure.tsx'
import { useLoaded } from '../../ui/loaded.ts'
import { ago, dateOf } from './jobs.tsx'
import { NewKeyDialog } from './new-key.tsx'

type CredentialList = OperationResult<'listCredentials'>
type ListedCredential = CredentialList['credentials'][number]

const PAGE = 100
/** Letters of an id: enough to recognize it. */
const ID_LETTERS = 8
const KINDS = { API_KEY: 'API key', SERVICE_ACCOUNT: 'service account' } as const

/** Draws the section. */
export function CredentialSection() {
  const [pages, setPages] = useState(1)
  const [loaded, reload] = useLoaded(
    async (signal): Promise<CredentialList> => {
      const lists: CredentialList[] = []
      for (let page = 0; page < pages; page++) {
        const options = { offset: page * PAGE, limit: PAGE, lastUse: true }
        lists.push(await perform('listCredentials', { options }, { signal }))
      }
      const since = lists.map(({ usesSince }) => usesSince).find((one) => one !== undefined)
      return {
        credentials: lists.flatMap(({ credentials }) => credentials),
        ...(since === undefined ? {} : { usesSince: since }),
      }
    },
    [pages],
  )
  const [asked, setAsked] = useState<'new' | ListedCredential | undefined>()
  const { credentials = [], usesSince } = loaded.value ?? {}
  const close = (): void => setAsked(undefined)
  return (
    <section class="section" aria-label="Credentials" aria-busy={loaded.isLoading}>
      <header class="section-head">
        <h2>Credentials</h2>
        <button type="button" class="button" onClick={() => setAsked('new')}>
          New API key
        </button>
      </header>
      {loaded.failure === undefined ? null : <Failure error={loaded.failure} retry={reload} />}
      <table class="plain-table">
        <thead>
          <tr>
            <th>name</th>
            <th>kind</th>
            <th>roles</th>
            <th>key id</th>
            <th>made</th>
            <th>last use</th>
            <th>expires</th>
            <th>
              <span class="spoken">end</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {credentials.map((one) => (
            <tr key={one.keyId} class={one.revokedAt === undefined ? '' : 'faint'}>
              <td dir="auto" class="name">
                <b>{one.name}</b>
              </td>
              <td>{KINDS[one.kind]}</td>
              <td>
                <span class="chips">
                  {one.roles.map((role) => (
                    <span class="chip" key={role}>
                      {role}
                    </span>
                  ))}
                </span>
              </td>
              <td class="mono faint" title={one.keyId}>
                {one.keyId.slice(0, ID_LETTERS)}
              </td>
              <td class="faint">{dateOf(one.createdAt)}</td>
              <td class="faint">{lastUse(one, usesSince)}</td>
              <td class="faint">{one.expiresAt === undefined ? 'never' : dateOf(one.expiresAt)}</td>
              <td class="end">
                {one.revokedAt === undefined ? (
                  <button type="button" class="button small" aria-label={`Revoke ${one.name}`} onClick={() => setAsked(one)}>
                    Revoke
                  </button>
                ) : (
                  <span class="chip bad">revoked</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {credentials.length === pages * PAGE ? (
        <button type="button" class="button" onClick={() => setPages(pages + 1)}>
          Show {PAGE} more
        </button>
      ) : null}
      {asked === 'new' ? (
        <NewKeyDialog onMade={reload} onClose={close} />
      ) : asked === undefined ? null : (
        <Confirm
          title={`Revoke ${asked.name}`}
          action="Revoke"
          typed={asked.name}
          run={async () => {
            await perform('revokeCredential', { keyId: asked.keyId })
            announce('Credential revoked')
            reload()
          }}
          onClose={close}
        >
          <p>Every process refuses it at once. It cannot be taken back.</p>
        </Confirm>
      )}
    </section>
  )
}

/** The trail says it, as far back as it was searched. */
function lastUse({ lastUsedAt }: ListedCredential, since: number | undefined): string {
  if (lastUsedAt !== undefined) return ago(lastUsedAt)
  return since === undefined ? 'never' : `not since ${dateOf(since)}`
}
