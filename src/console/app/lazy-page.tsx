/** Loads the chunk of a page when it is first drawn. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../ui/failure.tsx'
import { Page } from '../ui/page.tsx'
import { ApiError } from './api.ts'
import type { PageProps } from './router.ts'

/** Returns the component of a page. A chunk that is gone says so: after an update of the server its name is another one. */
export function lazyPage(load: () => Promise<ComponentType<PageProps>>): ComponentType<PageProps> {
  let loaded: ComponentType<PageProps> | undefined
  return function LazyPage(props: PageProps) {
    const [state, setState] = useState<'loading' | 'loaded' | 'failed'>(loaded === undefined ? 'loading' : 'loaded')
    useEffect(() => {
      if (loaded !== undefined) return
      load().then(
        (component) => {
          loaded = component
          setState('loaded')
        },
        () => setState('failed'),
      )
    }, [])
    if (state === 'failed') return <NotLoaded />
    const Loaded = loaded
    return Loaded === undefined ? <div class="body" aria-busy="true" /> : <Loaded {...props} />
  }
}

const GONE = new ApiError('This page could not be loaded. The console may have been updated: reload it and sign in again.')

function NotLoaded() {
  return (
    <Page title="Not loaded">
      <Failure error={GONE} action="Reload" retry={() => location.reload()} />
    </Page>
  )
}
