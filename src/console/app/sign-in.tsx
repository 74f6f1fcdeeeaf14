/** The sign-in page: an API key, the key file of a service account, or a JWT. Nothing of it is kept but in memory. */
import { useEffect, useState } from 'preact/hooks'
import { messageOf } from '../ui/failure.tsx'
import { Mark } from '../ui/mark.tsx'
import { useTitle } from '../ui/page.tsx'
import { FormFailure } from '../ui/submit.tsx'
import { Value } from '../ui/value.tsx'
import { ApiError } from './api.ts'
import type { Credential } from './credential.ts'
import { PAGES } from './pages.ts'
import { ONLY_VAULT } from './places.ts'
import { serviceAccount } from './service-account.ts'
import { endReason, signIn } from './session.ts'
import { useStore } from './store.ts'

const KINDS = [
  { name: 'API key', hint: 'sr_…' },
  { name: 'Key file', hint: '' },
  { name: 'JWT', hint: 'eyJ…' },
] as const
const KEY_FILE = 1

const REFUSED = 'The vault does not accept this credential. It may be mistyped, expired, revoked, or of another vault.'

/** Asks for a credential, and signs in. */
export function SignIn() {
  useTitle('Sign in')
  const reason = useStore(endReason)
  const [kind, setKind] = useState(0)
  const [vaultID, setVaultID] = useState(ONLY_VAULT ?? '')
  const [text, setText] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [failed, setFailed] = useState('')
  // The first page is there when the vault has answered.
  useEffect(() => void PAGES[0]?.load().catch(() => {}), [])
  const needsVault = ONLY_VAULT === undefined && kind !== KEY_FILE
  const isReady = text.trim() !== '' && (!needsVault || vaultID.trim() !== '')

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!isReady || isBusy) return
    setBusy(true)
    setFailed('')
    try {
      const credential: Credential =
        kind === KEY_FILE ? await serviceAccount(text) : { vaultID: vaultID.trim(), bearer: () => text.trim() }
      await signIn(credential)
    } catch (error) {
      setFailed(error instanceof ApiError && [401, 404].includes(error.status) ? REFUSED : messageOf(error))
      setBusy(false)
    }
  }
  const choose = (index: number): void => {
    setKind(index)
    setText('')
    setFailed('')
  }
  const readFile = async (input: HTMLInputElement): Promise<void> => setText((await input.files?.[0]?.text()) ?? '')
  const problem = failed === '' ? reason : failed
  return (
    <main class="sign-in">
      <form onSubmit={submit} autocomplete="off">
        <Mark />
        <div>
          <h1>{ONLY_VAULT ?? 'strongroom'}</h1>
          <p class="faint">A strongroom vault. You will see what your policy shows you.</p>
        </div>
        <fieldset class="segments">
          <legend class="spoken">Kind of credential</legend>
          {KINDS.map(({ name }, index) => (
            <button type="button" aria-pressed={kind === index} onClick={() => choose(index)} key={name}>
              {name}
            </button>
          ))}
        </fieldset>
        {needsVault ? (
          <label class="field">
            <span>Vault</span>
            <input
              class="input mono"
              autocomplete="off"
              spellcheck={false}
              placeholder="its id"
              value={vaultID}
              onInput={({ currentTarget }) => setVaultID(currentTarget.value)}
            />
          </label>
        ) : null}
        <div class="field">
          <label for="credential">{KINDS[kind]?.name}</label>
          {kind === KEY_FILE ? (
            <input
              class="input"
              id="credential"
              type="file"
              accept="application/json,.json"
              key="file"
              aria-describedby="kept"
              onChange={({ currentTarget }) => readFile(currentTarget)}
            />
          ) : (
            <input
              class="input mono"
              id="credential"
              type="password"
              autocomplete="off"
              spellcheck={false}
              autofocus
              key="text"
              placeholder={KINDS[kind]?.hint}
              value={text}
              aria-describedby="kept"
              aria-invalid={failed !== ''}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          )}
        </div>
        <FormFailure failed={problem} />
        <div class="field">
          <button type="submit" class="button primary" disabled={isBusy || !isReady}>
            {isBusy ? 'Signing in…' : 'Sign in'}
          </button>
          <p id="kept" class="faint">
            Kept in the memory of this tab. Reloading or closing it signs you out.
          </p>
        </div>
      </form>
      <Specimen />
    </main>
  )
}

const PHONE = '+46 8 5521 4407'

/** One value in the states that the console knows. */
function Specimen() {
  return (
    <div class="specimen" aria-hidden="true">
      <div>
        <span>plain</span>
        <Value cell={{ state: 'plain', value: PHONE }} />
      </div>
      <div>
        <span>masked</span>
        <Value cell={{ state: 'masked', value: '** * **** 4407' }} />
      </div>
      <div>
        <span>redacted</span>
        <Value cell={{ state: 'redacted' }} />
      </div>
      <div>
        <span>revealed, 37 s left</span>
        <span class="value value-revealed">{PHONE}</span>
      </div>
    </div>
  )
}
