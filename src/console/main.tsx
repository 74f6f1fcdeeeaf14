/** The console: draws the sign-in page, and the shell once the vault accepted a credential. */
import './styles/fonts.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import './styles/cells.css'
import './styles/shell.css'
import { render } from 'preact'
import { session } from './app/session.ts'
import { Shell } from './app/shell.tsx'
import { SignIn } from './app/sign-in.tsx'
import { useStore } from './app/store.ts'

function Console() {
  return useStore(session) === undefined ? <SignIn /> : <Shell />
}

// Its way is relative to the path at the start, and browsers look it up again after each change of the path.
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
icon?.setAttribute('href', icon.href)

const place = document.getElementById('app')
if (place !== null) render(<Console />, place)
