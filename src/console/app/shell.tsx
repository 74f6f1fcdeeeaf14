/** The frame of a signed-in tab: side bar, page, status line, palette and keys. */
import { useEffect, useState } from 'preact/hooks'
import { Empty } from '../ui/empty.tsx'
import { Page } from '../ui/page.tsx'
import { message } from './announce.ts'
import { KeyList } from './key-list.tsx'
import { lazyPage } from './lazy-page.tsx'
import { loadRecordPage, PAGES, shownPages } from './pages.ts'
import { Palette } from './palette.tsx'
import { go, type Path, path, replace } from './router.ts'
import { currentSession, type Session } from './session.ts'
import { listenToShortcuts } from './shortcuts.ts'
import { SideBar } from './side-bar.tsx'
import { useStore } from './store.ts'

const COMPONENTS = new Map(PAGES.map(({ id, load }) => [id, lazyPage(load)]))
const RecordPage = lazyPage(loadRecordPage)

/** Draws the frame and the page of the path. */
export function Shell() {
  const session = currentSession()
  const [over, setOver] = useState<'palette' | 'keys' | undefined>()
  useEffect(
    () =>
      listenToShortcuts({
        openPalette: () => setOver('palette'),
        openKeyList: () => setOver('keys'),
        openPage(key) {
          const page = shownPages(currentSession().caller).find((one) => one.key === key)
          if (page !== undefined) go([page.id])
          return page !== undefined
        },
      }),
    [],
  )
  // A record is opened from most pages, and a browser asks once for a chunk: when the server pauses later, the session goes on.
  useEffect(() => void loadRecordPage().catch(() => {}), [])
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={focusContent}>
        Skip to records
      </button>
      <SideBar {...session} onGoTo={() => setOver('palette')} />
      <main class="main" id="main" tabIndex={-1}>
        <CurrentPage />
      </main>
      <output class="status">{useStore(message)}</output>
      {over === 'palette' ? (
        <Palette session={session} onHelp={() => setOver('keys')} onClose={() => setOver(undefined)} />
      ) : null}
      {over === 'keys' ? <KeyList caller={session.caller} onClose={() => setOver(undefined)} /> : null}
    </div>
  )
}

/** What a page begins with has the attribute `data-start`. */
function focusContent(): void {
  const start = document.querySelector<HTMLElement>('[data-start]') ?? document.getElementById('main')
  start?.focus()
}

function CurrentPage() {
  const { caller, tables } = currentSession()
  const [first = '', ...rest] = useStore(path)
  const start = first === '' || (first === 'tables' && rest.length === 0) ? startOf(currentSession(), first) : undefined
  useEffect(() => {
    if (start !== undefined) replace(start)
  })
  if (start !== undefined) return null
  if (first === 'tables' || first === '') {
    if (tables.length === 0) return <NothingGranted />
    if (rest.length > 1) return <RecordPage path={rest} key={rest.join('/')} />
  }
  const Component = shownPages(caller).some(({ id }) => id === first) ? COMPONENTS.get(first) : undefined
  return Component === undefined ? <NoSuchPage /> : <Component path={rest} key={`${first}/${rest.join('/')}`} />
}

/** Returns where a path without a page leads: to the first table, or to the trail for an auditor. */
function startOf({ caller, tables: [table] }: Session, first: string): Path | undefined {
  if (table !== undefined) return ['tables', table.name]
  return first === '' && caller.can.audit ? ['audit'] : undefined
}

function NothingGranted() {
  return (
    <Page title="Tables">
      <Empty title="Nothing is granted to you.">
        <p>Your roles name no table of this vault. Ask its owner.</p>
      </Empty>
    </Page>
  )
}

function NoSuchPage() {
  return (
    <Page title="No such page">
      <Empty title="No such page.">
        <p>It does not exist, or your roles are not granted it.</p>
      </Empty>
    </Page>
  )
}
