// Starts the page.
import {render} from 'preact';

import {App} from './app';
import {applyTheme} from './theme';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/controls.css';
import './style/states.css';
import './style/shell.css';
import './style/jobs.css';
import './style/job_cards.css';
import './style/job.css';
import './style/charts.css';
import './style/logs.css';
import './style/model.css';
import './style/model_wires.css';
import './style/submit.css';
import './style/cluster.css';

applyTheme();
const root = document.getElementById('app');
if (root) render(<App />, root);
