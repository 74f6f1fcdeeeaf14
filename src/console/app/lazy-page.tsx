/** Loads the chunk of a page when it is first drawn. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failure, type FailureProps } from '../ui/failure.tsx'
import { Page } from '../ui/page.tsx'
import { ApiError } from './api.ts'
import { CONSOLE_URL } from './places.ts'
import type { PageProps } from './router.ts'

/** Returns the component of a page. A chunk that is gone says so: after an update of the server its name is another one. */
export function lazyPage(load: () => Promise<ComponentType<PageProps>>): ComponentType<PageProps> {
  let loaded: ComponentType<PageProps> | undefined
  return function LazyPage(props: PageProps) {
    const [state, setState] = useState<'loading' | 'loaded' | 'gone' | 'unanswered'>(loaded === undefined ? 'loading' : 'loaded')
    useEffect(() => {
      if (state !== 'loading') return
      load().then(
        (component) => {
          loaded = component
          setState('loaded')
        },
        async () => setState((await isServed()) ? 'gone' : 'unanswered'),
      )
    }, [state])
    if (state === 'gone') return <NotLoaded error={GONE} action="Reload" retry={() => location.reload()} />
    if (state === 'unanswered') return <NotLoaded error={UNANSWERED} retry={() => setState('loading')} />
    const Loaded = loaded
    return Loaded === undefined ? <div class="body" aria-busy="true" /> : <Loaded {...props} />
  }
}

const GONE = new ApiError('This page could not be loaded. The console may have been updated: reload it and sign in again.')
const UNANSWERED = new ApiError('The server does not answer. Nothing was changed.')

/** True if the server answers: then only the chunk is gone. Reloading before it answers would end the session for nothing. */
function isServed(): Promise<boolean> {
  return fetch(CONSOLE_URL, { cache: 'no-store', credentials: 'omit' }).then(
    () => true,
    () => false,
  )
}

function NotLoaded(props: FailureProps) {
  return (
    <Page title="Not loaded">
      <Failure {...props} />
    </Page>
  )
}
