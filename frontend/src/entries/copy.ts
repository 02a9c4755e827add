// Pages with copy buttons: .copy[data-copy|data-copy-from][data-done].
import { bindCopy } from '../lib/copy';

bindCopy();
